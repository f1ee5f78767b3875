import Glibc
import MediaSystem

/// A note next to a large database: records that its content was checked, and the state of the file at that time.
///
/// Checking a million rows takes seconds, too long to be repeated by every command. A change by another program, a
/// restored copy, or a process that was killed while writing invalidates the note; everything is then checked the next
/// time the database is opened.
struct WholeMark: Sendable {
    /// Smaller databases are checked every time they are opened, in a few milliseconds.
    static let minimumSize: Int64 = 1 << 20

    private let database: String
    private let isUsed: Bool
    private var path: String { database + ".checked" }

    init(of database: String, isUsed: Bool) {
        self.database = database
        self.isUsed = isUsed
    }

    /// Whether the database is unchanged since it was found intact.
    var matches: Bool {
        guard isUsed, let expected = current else { return false }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 && bytes[..<count].elementsEqual(expected.utf8)
    }

    /// The note for the current state; nil for a database that does not get a note.
    var current: String? {
        guard isUsed, let status = (try? FileStatus(at: database)) ?? nil, status.size >= Self.minimumSize else {
            return nil
        }
        return status.fingerprint
    }

    /// Records that the database is intact, unless it has since changed from `expected`. A failure only costs another
    /// check.
    func write(unlessChangedFrom expected: String? = nil) {
        guard let text = current, expected == nil || expected == text, !matches else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // A partial note matches no database.
        _ = Array(text.utf8).withUnsafeBytes { FileBytes.write($0, to: descriptor, at: 0) }
    }

    /// Causes a full check the next time the database is opened.
    func remove() {
        guard isUsed else { return }
        unlink(path)
    }
}
