internal import CCurlShims

/// Which libcurl this process runs with. It may be newer than the one it was built with.
public enum LibcurlVersion {
    /// Its version, such as `7.88.1`.
    public static var number: String {
        // Constants of libcurl, which stays loaded.
        String(cString: shim_library_version())
    }

    /// What does its TLS, and in which version, such as `OpenSSL/3.0.17`; nil for a libcurl without TLS.
    public static var tls: String? {
        shim_library_tls().map { String(cString: $0) }
    }
}
