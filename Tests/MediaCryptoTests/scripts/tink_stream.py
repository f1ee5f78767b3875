"""Tink's own AES256_GCM_HKDF_1MB, for files.

usage: tink_stream.py KEY_HEX ASSOCIATED_DATA_HEX < jobs

Each line of standard input is a job, and each job prints one line: "seal IN OUT" prints "sealed"; "open IN OUT" prints
"opened", or "refused" if Tink does not authenticate the ciphertext.
"""

import sys

import tink
from tink import cleartext_keyset_handle, streaming_aead
from tink.proto import aes_gcm_hkdf_streaming_pb2, common_pb2, tink_pb2


def primitive(key):
    """Tink supports only keysets: this keyset contains the raw key."""
    streaming_aead.register()
    parameters = aes_gcm_hkdf_streaming_pb2.AesGcmHkdfStreamingParams(
        ciphertext_segment_size=1 << 20, derived_key_size=32, hkdf_hash_type=common_pb2.SHA256
    )
    value = aes_gcm_hkdf_streaming_pb2.AesGcmHkdfStreamingKey(version=0, key_value=key, params=parameters)
    entry = tink_pb2.Keyset.Key(
        key_data=tink_pb2.KeyData(
            type_url="type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
            value=value.SerializeToString(),
            key_material_type=tink_pb2.KeyData.SYMMETRIC,
        ),
        status=tink_pb2.ENABLED,
        key_id=1,
        output_prefix_type=tink_pb2.RAW,
    )
    keyset = tink_pb2.Keyset(primary_key_id=1, key=[entry])
    handle = cleartext_keyset_handle.read(tink.BinaryKeysetReader(keyset.SerializeToString()))
    return handle.primitive(streaming_aead.StreamingAead)


def main():
    aead, associated_data = primitive(bytes.fromhex(sys.argv[1])), bytes.fromhex(sys.argv[2])
    for line in sys.stdin:
        job, source, target = line.split()
        if job == "seal":
            with open(source, "rb") as plain, open(target, "wb") as sealed:
                with aead.new_encrypting_stream(sealed, associated_data) as stream:
                    stream.write(plain.read())
            print("sealed", flush=True)
            continue
        try:
            with aead.new_decrypting_stream(open(source, "rb"), associated_data) as stream:
                content = stream.read()
        except tink.TinkError:
            print("refused", flush=True)
            continue
        with open(target, "wb") as plain:
            plain.write(content)
        print("opened", flush=True)


main()
