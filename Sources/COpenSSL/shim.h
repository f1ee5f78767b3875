#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

/* OpenSSL keeps the pointer to a parameter's name. Swift would pass a pointer that is invalid after the call, so lists of
   parameters are built here. Parameters are not const, but are not changed. */

/* A P-256 public key (SEC 1); NULL if the point is not on the curve. */
static inline EVP_PKEY *copenssl_p256_public_key(const unsigned char *point, size_t count) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"P-256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, count),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (context == NULL || EVP_PKEY_fromdata_init(context) != 1
        || EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    return key;
}

/* HKDF (RFC 5869), extract and expand with SHA-256; 1 on success. */
static inline int copenssl_hkdf_sha256(
    const unsigned char *key, size_t key_count,
    const unsigned char *salt, size_t salt_count,
    const unsigned char *info, size_t info_count,
    unsigned char *derived, size_t derived_count
) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *algorithm = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(algorithm);
    int result = context == NULL ? 0 : EVP_KDF_derive(context, derived, derived_count, parameters);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(algorithm);
    return result;
}
