/*
 * fields.h - the header fields of a request, one after the other.
 */
#ifndef HTTP_FIELDS_H
#define HTTP_FIELDS_H
#include "http/http.h"

/* for (at = NULL; http_field_next(request, &at, &name, &value);), as http_header: on the loop while
   the client is there.  Names are as they were sent. */
bool http_field_next(const struct http_request *request, const char **at, const char **ret_name,
                     const char **ret_value);
#endif
