#include "curl_shims.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

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

CURLcode shim_set_private(CURL *handle, void *context) {
    return curl_easy_setopt(handle, CURLOPT_PRIVATE, context);
}

CURLcode shim_set_error_buffer(CURL *handle, char *buffer) {
    return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
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

CURLcode shim_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode shim_getinfo_off(CURL *handle, CURLINFO info, int64_t *value) {
    curl_off_t raw = 0;
    CURLcode code = curl_easy_getinfo(handle, info, &raw);
    *value = (int64_t)raw;
    return code;
}

CURLcode shim_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode shim_get_private(CURL *handle, void **context) {
    return curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)context);
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

int64_t shim_socket_unsent(curl_socket_t socket) {
    int unsent = 0;
    return ioctl(socket, SIOCOUTQ, &unsent) == 0 ? unsent : -1;
}

unsigned int shim_url_punycode_flag(void) {
#ifdef CURLU_PUNYCODE
    return CURLU_PUNYCODE;
#else
    return 0;
#endif
}
