# drover - `make help` lists the targets.
#
#   build/drover        the program            build/obj/    objects, by folder
#   build/tests         unit and store tests   build/san/    the same with sanitizers
#   build/sim           the simulator          build/clang/  the same by clang
#   build/brokers       a Kafka for tests      build/bench   benchmarks
#
# To work on one corner while the rest does not compile:
#   make unit SRCS="src/base/arena.c src/base/mem.c" TESTS=tests/unit/base/test_arena.c

VERSION := 0.1.0
BUILD   ?= build
SAN     ?=# Sanitizers, for example: make BUILD=build/san SAN=address,undefined
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
# Short lines while building; V=1 shows whole commands.
say = $(if $(V),,@echo '  $(1)';)

SRCS  := $(wildcard src/*/*.c src/*/*/*.c)
TESTS := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/store/test_*.c)
AIDS  := $(filter-out $(wildcard tests/store/test_*.c),$(wildcard tests/unit/*.c tests/store/*.c))

obj       = $(patsubst %.c,$(BUILD)/obj/%.o,$(patsubst src/%,%,$(1)))
LIB_OBJ  := $(call obj,$(SRCS)) $(BUILD)/obj/core/schema_text.o $(BUILD)/obj/api/mcp_text.o
# The program of src/inside.c: static, with what it needs and nothing else, never with sanitizers.
INSIDE_SRCS := src/inside.c $(addprefix src/work/sandbox/,inside.c filter.c) \
    $(addprefix src/net/,dial.c listener.c pump.c relay.c) \
    $(addprefix src/base/,arena.c buf.c clock.c fd.c mem.c proc.c random.c rc.c str.c thread.c)
INSIDE_OBJ  := $(INSIDE_SRCS:src/%.c=$(BUILD)/inside-obj/%.o)
MAIN_OBJ := $(call obj,src/main.c)
TEST_OBJ := $(call obj,$(AIDS) $(TESTS))
BENCH_OBJ := $(call obj,$(wildcard bench/*.c) tests/unit/honest.c)
SIM_OBJ  := $(call obj,$(wildcard tests/sim/*.c) tests/unit/honest.c tests/store/store_fault.c)
SCHEMAS  := $(sort $(wildcard schemas/*.json schemas/events/*.json))
MCP_TEXTS := $(sort $(wildcard schemas/mcp/*.json))

# pkg-config runs once, and only when something is compiled: on a fresh machine it is not there yet.
LIBS = libevent_core libevent_pthreads jansson sqlite3 yaml-0.1 libcrypto
# Loaded when they are first used (src/base/library.h): only their headers are needed here.
LATE_LIBS = libpq libcurl libnats rdkafka librabbitmq
once = $(eval $(1) := $$(shell pkg-config $(2)))$($(1))
LIB_CFLAGS   = $(call once,LIB_CFLAGS,--cflags $(LIBS) $(LATE_LIBS))
LIB_LDLIBS   = $(call once,LIB_LDLIBS,--libs $(LIBS)) -ldl
BENCH_LDLIBS = $(call once,BENCH_LDLIBS,--libs libpq libnats rdkafka librabbitmq)
BROKER_LDLIBS = $(call once,BROKER_LDLIBS,--libs rdkafka librabbitmq)
CHECK_CFLAGS = $(call once,CHECK_CFLAGS,--cflags check)
CHECK_LDLIBS = $(call once,CHECK_LDLIBS,--libs check)

# gcc warns of what cannot be under sanitizers, so there warnings are no errors.
WARN     := -Wall -Wextra -Wconversion -Wshadow $(if $(SAN),,-Werror)
HARDEN   := -fstack-protector-strong -fno-omit-frame-pointer
HARDEN   += $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all,-D_FORTIFY_SOURCE=2)
# TRAP=1: a check of UBSan that fails raises SIGILL, which AddressSanitizer reports with the line
# when ASAN_OPTIONS has handle_sigill=1.  The texts of the checks are nine tenths of the data of the
# program, and every search for leaks reads them: a third of what a small test takes.
TRAP     ?=
HARDEN   += $(if $(TRAP),-fsanitize-undefined-trap-on-error)
# At a fixed address the many thousand pointers of AddressSanitizer need no relocation: a quarter
# of what a process takes to start.
FIXED    := $(findstring address,$(SAN))
HARDEN   += $(if $(FIXED),-fno-pie,-fPIE)
CPPFLAGS += -D_GNU_SOURCE -DDROVER_VERSION='"$(VERSION)"' -Isrc
CFLAGS   ?= -O2 -g
C_FLAGS   = -std=gnu11 $(CFLAGS) $(WARN) $(HARDEN) $(CPPFLAGS) -pthread -MMD -MP
LD_FLAGS  = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(if $(FIXED),-no-pie,-pie)
LD_FLAGS += -Wl,-z,relro,-z,now,--as-needed -pthread
# Nothing refers to the runtime of UBSan then: the shared one would be loaded all the same.
LD_FLAGS += $(if $(TRAP),$(if $(findstring clang,$(CC)),,-static-libubsan))

.PHONY: all help run demo quick test test-long test-agents test-hub test-mcp test-events check bench
.PHONY: bench-peers install deb clean
.PHONY: faults unit sim test-build packages FORCE
.DELETE_ON_ERROR:

all: packages $(BUILD)/drover

packages:
	@tools/packages --dry-run build

$(BUILD)/drover: $(LIB_OBJ) $(MAIN_OBJ)
	$(call say,LD $@)$(CC) $(LD_FLAGS) -o $@ $^ $(LIB_LDLIBS) -lm

# The tables of steps, to which tests/unit/step_added.c adds one; and check's own, see main.c.
TEST_WRAPS := step_table step_handlers step_function _mark_point
$(BUILD)/tests: $(LIB_OBJ) $(TEST_OBJ)
	$(call say,LD $@)$(CC) $(LD_FLAGS) $(TEST_WRAPS:%=-Wl,--wrap=%) -o $@ $^ $(LIB_LDLIBS) \
		$(CHECK_LDLIBS) -lm

# A Kafka for the end-to-end tests, and readers of what arrived at a broker.
$(BUILD)/brokers: $(call obj,tests/brokers/main.c) $(filter $(BUILD)/obj/base/%,$(LIB_OBJ))
	$(call say,LD $@)$(CC) $(LD_FLAGS) -o $@ $^ $(LIB_LDLIBS) $(BROKER_LDLIBS) -lm

$(BUILD)/sim: $(LIB_OBJ) $(SIM_OBJ)
	$(call say,LD $@)$(CC) $(LD_FLAGS) -Wl,--wrap=tx_commit -o $@ $^ $(LIB_LDLIBS) -lm

# The simulator with an invariant broken on purpose: see tests/sim/caught.sh.
BREAKS := job_step admission_start jobs_insert events_append attempts_insert job_keys_enter \
          job_keys_leave queues_leased queues_waiting bucket_take accounts_state_list \
          accounts_runs_but account_view_runs tx_commit command_undo jobs_due leases_claim \
          leases_enter issue_step choose_agent
$(BUILD)/sim-broken: $(LIB_OBJ) $(SIM_OBJ) $(call obj,tests/sim/broken/broken.c)
	$(call say,LD $@)$(CC) $(LD_FLAGS) $(BREAKS:%=-Wl,--wrap=%) -o $@ $^ $(LIB_LDLIBS) -lm

$(BUILD)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(C_FLAGS) $(LIB_CFLAGS) -c -o $@ $<

INSIDE_FLAGS = -Os -ffunction-sections -fdata-sections -fPIE -fstack-protector-strong
INSIDE_FLAGS += -D_FORTIFY_SOURCE=2 -pthread -MMD -MP
$(BUILD)/inside-obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $< for inside)$(CC) -std=gnu11 $(WARN) $(CPPFLAGS) $(INSIDE_FLAGS) -c -o $@ $<

$(BUILD)/inside: $(INSIDE_OBJ)
	$(call say,LD $@)$(CC) -static-pie -Wl,--gc-sections,-z,relro,-z,now -s -pthread -o $@ $^

$(BUILD)/obj/work/sandbox/inside_program.o: $(BUILD)/inside
$(BUILD)/obj/work/sandbox/inside_program.o: CPPFLAGS += -DINSIDE_PROGRAM='"$(BUILD)/inside"'

# Schemas become part of the program.
$(BUILD)/gen/schema_text.c: $(SCHEMAS) tools/embed Makefile
	@mkdir -p $(@D)
	$(call say,EMBED schemas)tools/embed schema_texts core/config/schema_text.h $(SCHEMAS) >$@

$(BUILD)/obj/core/schema_text.o: $(BUILD)/gen/schema_text.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(C_FLAGS) -c -o $@ $<

$(BUILD)/gen/mcp_text.c: $(MCP_TEXTS) tools/embed Makefile
	@mkdir -p $(@D)
	$(call say,EMBED $(MCP_TEXTS))tools/embed mcp_texts core/config/schema_text.h $(MCP_TEXTS) >$@

$(BUILD)/obj/api/mcp_text.o: $(BUILD)/gen/mcp_text.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(C_FLAGS) -c -o $@ $<

# Compiled quickly, since each test runs once; the simulator runs for long.
QUICK = $(if $(filter tests/sim/%,$<),,-O0 -U_FORTIFY_SOURCE)
$(BUILD)/obj/tests/%.o: tests/%.c Makefile | $(BUILD)/gen/suites.inc
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(C_FLAGS) $(QUICK) -I. -I$(BUILD)/gen $(LIB_CFLAGS) $(CHECK_CFLAGS) \
		-c -o $@ $<

$(BUILD)/bench: $(LIB_OBJ) $(BENCH_OBJ)
	$(call say,LD $@)$(CC) $(LD_FLAGS) -o $@ $^ $(LIB_LDLIBS) $(BENCH_LDLIBS) -lm

$(BUILD)/obj/bench/%.o: bench/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(C_FLAGS) -I. $(LIB_CFLAGS) -c -o $@ $<

# One line SUITE(name) for each test_name.c; rewritten only when the list changes.
$(BUILD)/gen/suites.inc: FORCE
	@mkdir -p $(@D)
	@printf 'SUITE(%s)\n' $(patsubst test_%.c,%,$(notdir $(TESTS))) >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(MAIN_OBJ) $(TEST_OBJ) $(BENCH_OBJ) $(SIM_OBJ) \
    $(INSIDE_OBJ)) \
    $(BUILD)/obj/tests/brokers/main.d

# The program with fault points in it (src/base/fault.h): only who has some is compiled anew.
FAULT_SRCS := $(shell grep -ls '"base/fault.h"' $(SRCS))
FAULT_OBJ  := $(FAULT_SRCS:src/%.c=$(BUILD)/faults/obj/%.o)
$(BUILD)/faults/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $< with faults)$(CC) $(C_FLAGS) -DDROVER_FAULTS $(LIB_CFLAGS) -c -o $@ $<

$(BUILD)/faults/drover: $(FAULT_OBJ) $(filter-out $(call obj,$(FAULT_SRCS)),$(LIB_OBJ)) $(MAIN_OBJ)
	$(call say,LD $@)$(CC) $(LD_FLAGS) -o $@ $^ $(LIB_LDLIBS) -lm

-include $(FAULT_OBJ:.o=.d)
faults: $(BUILD)/faults/drover

# What the tests need.
test-build: $(BUILD)/drover $(BUILD)/tests $(BUILD)/sim $(BUILD)/sim-broken $(BUILD)/brokers

unit: $(BUILD)/tests
	$(BUILD)/tests $(SUITE)

sim: $(BUILD)/sim
	$(BUILD)/sim $(ARGS)

# The targets below first see to the packages, then build and do their work in a second make.
run demo:
	@tools/packages build
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tools/demo $@

test:
	@tools/packages test
	@BUILD=$(BUILD) tools/test

quick:
	@tools/packages test
	@BUILD=$(BUILD) tools/test --quick

test-long:
	@tools/packages test-long
	@BUILD=$(BUILD) tools/test --long

test-agents:
	@tools/packages test-agents
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tests/agents/run

test-hub:
	@tools/packages test-hub
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tests/hub/contract/run

test-mcp:
	@tools/packages test-mcp
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tests/mcp/run

test-events:
	@tools/packages test-events
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tests/events/run

check:
	@tools/packages check
	@BUILD=$(BUILD) tools/check

bench:
	@tools/packages build
	@$(MAKE) --no-print-directory -s $(BUILD)/drover $(BUILD)/bench
	@BUILD=$(BUILD) bench/run

bench-peers:
	@tools/packages test
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) bench/peers/run

install: all
	install -D -m 755 $(BUILD)/drover $(DESTDIR)$(PREFIX)/bin/drover
	install -D -m 644 docs/drover.1 $(DESTDIR)$(PREFIX)/share/man/man1/drover.1
	install -D -m 644 share/completions/drover.bash \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/drover

deb:
	@tools/packages deb
	@$(MAKE) --no-print-directory -s $(BUILD)/drover
	@BUILD=$(BUILD) tools/deb

clean:
	rm -rf $(BUILD)

help:
	@echo 'make            build $(BUILD)/drover'
	@echo 'make run        demo: start a server, run a sample task, go on serving until Ctrl-C'
	@echo 'make demo       the same, one shot'
	@echo 'make quick      unit and store tests and the main end-to-end tests, in two minutes'
	@echo 'make test       unit, store and end-to-end tests, plain and with sanitizers'
	@echo 'make test-long  the same with longer end-to-end tests, valgrind and ThreadSanitizer'
	@echo 'make test-agents  real agents from npm against a scripted model; part of test-long'
	@echo 'make test-hub   requests to GitHub against its own description; part of test-long'
	@echo 'make test-mcp   the official programs of MCP with drover as their server; part of test-long'
	@echo 'make test-events  the official programs of AsyncAPI and CloudEvents; part of test-long'
	@echo 'make check      formatting, layers, house limits, static analysis, a clang build'
	@echo 'make unit       unit and store tests of the plain build; SUITE=arena for one suite'
	@echo 'make sim        the simulator; ARGS="[jobs|nodes] --seed N"; more in tests/sim/main.c'
	@echo 'make bench      benchmarks; make bench-peers: beside its peers, which it fetches'
	@echo 'make install    into $$(DESTDIR)$$(PREFIX), by default /usr/local'
	@echo 'make deb        a Debian package with a systemd unit: $(BUILD)/drover_$(VERSION)_ARCH.deb'
	@echo 'make clean      remove $(BUILD)/'
	@echo
	@echo 'Variables: BUILD=$(BUILD) CC=$(CC) SAN=address,undefined PREFIX=$(PREFIX) DESTDIR='
