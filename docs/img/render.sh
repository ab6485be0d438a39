#!/bin/sh
# render.sh - a terminal's output, colours included, as an SVG whose text is text.
#
#   script -qec "drover timeline latest" /dev/null | docs/img/render.sh '$ drover timeline latest' \
#       >docs/img/timeline.svg
#
# Knows what drover prints: bold, dim, red, green, yellow, cyan, off.  Long lines are wrapped as a
# terminal of 100 columns does.
set -eu
exec awk -v title="${1-}" '
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function put(text) {
    if (text == "")
        return
    row = row (style == "" ? escaped(text) : "<tspan class=\"" style "\">" escaped(text) "</tspan>")
    column += length(text)
}
function end_row() {
    rows[count++] = row
    row = ""
    column = 0
}
function add(text) {
    while (column + length(text) > columns) {
        part = columns - column
        put(substr(text, 1, part))
        text = substr(text, part + 1)
        end_row()
    }
    put(text)
}
BEGIN {
    columns = 100; width = 8; height = 18; pad = 16
    split("1 b 2 dim 31 red 32 green 33 yellow 36 cyan", pairs, " ")
    for (i = 1; i in pairs; i += 2)
        class[pairs[i]] = pairs[i + 1]
    if (title != "") {
        style = "dim"
        add(title)
        style = ""
        end_row()
    }
}
{
    sub(/\r$/, "")
    line = $0
    while (match(line, /\033\[[0-9]*m/)) {
        add(substr(line, 1, RSTART - 1))
        code = substr(line, RSTART + 2, RLENGTH - 3)
        style = code in class ? class[code] : ""
        line = substr(line, RSTART + RLENGTH)
    }
    add(line)
    end_row()
}
END {
    w = columns * width + 2 * pad
    h = count * height + 2 * pad
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\"", w, h, w
    printf " height=\"%d\" role=\"img\" aria-label=\"%s\">\n", h, escaped(title)
    print "<style>"
    print "text { fill: #1f2328; white-space: pre;"
    print "       font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }"
    print "rect { fill: #f6f8fa; stroke: #d0d7de } .b { font-weight: bold } .dim { fill: #656d76 }"
    print ".red { fill: #cf222e } .green { fill: #1a7f37 } .yellow { fill: #7d4e00 }"
    print ".cyan { fill: #0a6c74 }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #e6edf3 } rect { fill: #161b22; stroke: #30363d } .dim { fill: #8d96a0 }"
    print ".red { fill: #ff7b72 } .green { fill: #3fb950 } .yellow { fill: #d29922 }"
    print ".cyan { fill: #39c5cf }"
    print "}"
    print "</style>"
    printf "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", w - 1, h - 1
    for (i = 0; i < count; i++)
        if (rows[i] != "")
            printf "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", pad,
                pad + (i + 1) * height - 5, rows[i]
    print "</svg>"
}'
