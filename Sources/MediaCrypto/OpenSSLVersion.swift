internal import COpenSSL

/// Which OpenSSL this process runs with. It may be newer than the one it was built with.
public enum OpenSSLVersion {
    /// Its version, such as `3.0.17`.
    public static var number: String {
        // A constant of OpenSSL, which stays loaded.
        OpenSSL_version(OPENSSL_FULL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
    }
}
