#define _GNU_SOURCE
#include "curl_shims.h"

#include <linux/sockios.h>
#include <locale.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

CURLcode shim_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode shim_setopt_off(CURL *handle, CURLoption option, int64_t value) {
    return curl_easy_setopt(handle, option, (curl_off_t)value);
}

CURLcode shim_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode shim_setopt_slist(CURL *handle, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(handle, option, list);
}

CURLcode shim_set_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_OK;
#endif
}

CURLcode shim_set_error_buffer(CURL *handle, char *buffer) {
    return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
}

CURLMcode shim_multi_setopt_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

// Sets a callback and its context, in that order; stops at the first failure.
#define SET_CALLBACK(handle, function_option, callback, data_option, context)         \
    do {                                                                              \
        CURLcode code = curl_easy_setopt((handle), (function_option), (callback));    \
        return code != CURLE_OK ? code : curl_easy_setopt((handle), (data_option), (context)); \
    } while (0)

CURLcode shim_set_read(CURL *handle, shim_data_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_READFUNCTION, callback, CURLOPT_READDATA, context);
}

CURLcode shim_set_seek(CURL *handle, shim_seek_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_SEEKFUNCTION, callback, CURLOPT_SEEKDATA, context);
}

CURLcode shim_set_write(CURL *handle, shim_data_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_WRITEFUNCTION, callback, CURLOPT_WRITEDATA, context);
}

CURLcode shim_set_header(CURL *handle, shim_data_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_HEADERFUNCTION, callback, CURLOPT_HEADERDATA, context);
}

CURLcode shim_set_socket_opened(CURL *handle, shim_socket_opened_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_SOCKOPTFUNCTION, callback, CURLOPT_SOCKOPTDATA, context);
}

CURLcode shim_set_socket_close(CURL *handle, shim_socket_close_callback callback, void *context) {
    SET_CALLBACK(handle, CURLOPT_CLOSESOCKETFUNCTION, callback, CURLOPT_CLOSESOCKETDATA, context);
}

CURLcode shim_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode shim_getinfo_off(CURL *handle, CURLINFO info, int64_t *value) {
    curl_off_t raw = 0;
    CURLcode code = curl_easy_getinfo(handle, info, &raw);
    *value = (int64_t)raw;
    return code;
}

bool shim_multi_next_done(CURLM *handle, CURL **finished, CURLcode *result) {
    int remaining = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(handle, &remaining)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *finished = message->easy_handle;
            *result = message->data.result;
            return true;
        }
    }
    return false;
}

int shim_socket_local_port(curl_socket_t socket) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    switch (address.ss_family) {
    case AF_INET:
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    case AF_INET6:
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    default:
        return -1;
    }
}

int64_t shim_socket_unsent(curl_socket_t socket) {
    int unsent = 0;
    return ioctl(socket, SIOCOUTQ, &unsent) == 0 ? unsent : -1;
}

bool shim_socket_limit_backlog(curl_socket_t socket, int bytes) {
    return setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) == 0;
}

CURLUcode shim_url_get_host(CURLU *url, char **host) {
#ifdef CURLU_PUNYCODE
    // The conversion expects the name in the locale's encoding, and programs start in the C locale: use UTF-8, on this
    // thread only, during the call.
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t previous = utf8 ? uselocale(utf8) : (locale_t)0;
    CURLUcode code = curl_url_get(url, CURLUPART_HOST, host, CURLU_PUNYCODE);
    if (utf8) {
        uselocale(previous);
        freelocale(utf8);
    }
    return code;
#else
    return curl_url_get(url, CURLUPART_HOST, host, 0);
#endif
}

const struct curl_slist *shim_first_certificate(CURL *handle) {
    struct curl_certinfo *info = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_CERTINFO, &info) != CURLE_OK || info == NULL || info->num_of_certs < 1)
        return NULL;
    return info->certinfo[0];
}

const char *shim_library_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version;
}

const char *shim_library_tls(void) {
    return curl_version_info(CURLVERSION_NOW)->ssl_version;
}
