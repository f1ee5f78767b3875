import Foundation

/// A file that has arrived whole and waits for its place.
protocol ReceivedFile {
    var path: String { get }
    var size: Int { get }

    /// Moves the file to its final name.
    func keep(at destination: String) throws
}

/// Writes everything, however little the system takes at a time.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) throws {
    var rest = bytes
    while !rest.isEmpty {
        let count = write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            throw SystemError(call: "write", code: errno)
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}
