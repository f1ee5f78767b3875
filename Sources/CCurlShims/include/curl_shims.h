// Typed, non-variadic access to libcurl for Swift.
//
// `curl_easy_setopt`, `curl_easy_getinfo` and `curl_multi_setopt` are variadic, which Swift cannot call. Each shim
// below fixes the argument's type; the callback shims set a function and its context together, so that one can never be
// set without the other. Pointers that are passed must outlive the handle, except where a comment states that libcurl
// copies the data.
#ifndef MEDIACTL_CURL_SHIMS_H
#define MEDIACTL_CURL_SHIMS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef size_t (*shim_data_callback)(char *buffer, size_t size, size_t count, void *context);
typedef int (*shim_seek_callback)(void *context, curl_off_t offset, int origin);
typedef int (*shim_socket_opened_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef int (*shim_socket_close_callback)(void *context, curl_socket_t socket);

// Options. Strings are copied by libcurl.
CURLcode shim_setopt_long(CURL *handle, CURLoption option, long value);
CURLcode shim_setopt_off(CURL *handle, CURLoption option, int64_t value);
CURLcode shim_setopt_string(CURL *handle, CURLoption option, const char *value);
CURLcode shim_setopt_slist(CURL *handle, CURLoption option, struct curl_slist *list);
// Lets a transfer be removed without waiting for its name lookup (libcurl 7.87 or later; otherwise no effect).
CURLcode shim_set_quick_exit(CURL *handle);
CURLcode shim_set_error_buffer(CURL *handle, char *buffer);
CURLMcode shim_multi_setopt_long(CURLM *handle, CURLMoption option, long value);

// Callbacks with their contexts.
CURLcode shim_set_read(CURL *handle, shim_data_callback callback, void *context);
CURLcode shim_set_seek(CURL *handle, shim_seek_callback callback, void *context);
CURLcode shim_set_write(CURL *handle, shim_data_callback callback, void *context);
CURLcode shim_set_header(CURL *handle, shim_data_callback callback, void *context);
CURLcode shim_set_socket_opened(CURL *handle, shim_socket_opened_callback callback, void *context);
CURLcode shim_set_socket_close(CURL *handle, shim_socket_close_callback callback, void *context);

// Information.
CURLcode shim_getinfo_long(CURL *handle, CURLINFO info, long *value);
CURLcode shim_getinfo_off(CURL *handle, CURLINFO info, int64_t *value);
// Takes a finished transfer from the multi handle's message queue; false if the queue is empty.
bool shim_multi_next_done(CURLM *handle, CURL **finished, CURLcode *result);

// Fields of the peer's certificate as "Name:value" lines, owned by the handle; NULL without CURLOPT_CERTINFO or TLS.
const struct curl_slist *shim_first_certificate(CURL *handle);

// The local TCP port of a connected socket; -1 if it has no port.
int shim_socket_local_port(curl_socket_t socket);

// Bytes in the kernel's send queue that the peer has not acknowledged yet (SIOCOUTQ); -1 if unknown.
int64_t shim_socket_unsent(curl_socket_t socket);

// Lets the kernel's send queue take data only while at most this many bytes of it are not sent yet (TCP_NOTSENT_LOWAT,
// tcp(7)); 0 is the system's default. Bytes that the peer has not acknowledged do not count, so the connection is no
// slower. False if unsupported.
bool shim_socket_limit_backlog(curl_socket_t socket, int bytes);

// The host of an address; an internationalized name as Punycode (libcurl 7.88 or later; otherwise unchanged). Free the
// value with `curl_free`.
CURLUcode shim_url_get_host(CURLU *url, char **host);

// The versions in use at run time, not those at build time. Both are valid until the process exits; the second is NULL
// without TLS.
const char *shim_library_version(void);
const char *shim_library_tls(void);

#endif
