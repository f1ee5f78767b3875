internal import CTestSupport
internal import Glibc
public import Testing

/// Permissions of an unprivileged user. Root may do everything, so nothing would be refused in a container.
public enum OtherUser {
    /// Debian's `nobody`.
    public static let id: UInt32 = 65534

    /// Whether this thread may act as another user.
    public static let isAvailable = geteuid() == 0

    /// The reason why a test is skipped.
    public static let requirement: Comment = "acting as another user requires root"

    /// The user could not be changed.
    public struct Refused: Error {}

    /// Runs `body` as the other user. Other threads are not affected, so it must not use them.
    ///
    /// - Throws: Errors thrown by `body`; `Refused`.
    public static func run<Value>(_ body: () throws -> Value) throws -> Value {
        guard ctest_become(id) == 0 else { throw Refused() }
        defer {
            if ctest_become(0) != 0 { abort() }
        }
        return try body()
    }
}
