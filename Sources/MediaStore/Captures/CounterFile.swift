/// The signature counter of one device, in a file of its own that is locked for as long as an exchange with the server
/// lasts: a server takes counters only in ascending order (hash-only contract 3.1, trap 12).
public final class CounterFile: Sendable {
    /// Opens and locks the counter of a device, waiting for another process that holds it.
    ///
    /// Cancelling ends the waiting with `CancellationError`.
    ///
    /// - Parameters:
    ///   - device: UUID of the device; checked, since it becomes part of a file's name.
    ///   - directory: The data directory.
    ///   - patience: How long another process may hold it.
    /// - Throws: `StoreError`: `.busy` after `patience`; `.corrupt` for a file that holds no counter, which is never
    ///   reset.
    public static func lock(
        device: String,
        in directory: DataDirectory,
        patience: Duration = .seconds(60)
    ) async throws -> CounterFile {
        throw StoreError(.other, path: "")
    }

    /// Takes the next `count` counters: they are on the disk as used when this returns.
    ///
    /// - Returns: The first.
    /// - Throws: `StoreError`; `.other` when no counter is left below 2³².
    public func take(_ count: UInt32) throws(StoreError) -> UInt32 {
        throw StoreError(.other, path: "")
    }

    /// The last counter taken; 0 before the first.
    public var last: UInt32 { 0 }
}
