internal import Glibc

/// The system's message for an `errno`.
package enum SystemError {
    /// For example `no such file or directory`: lower case, like all messages.
    package static func words(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }
}
