internal import Glibc

/// What the system says of an `errno`.
package enum SystemError {
    /// For example `no such file or directory`: lower case, as all our messages are.
    package static func words(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }
}
