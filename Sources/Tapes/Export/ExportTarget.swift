internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// The place of a file that an export writes, for playlists and videos alike.
public enum ExportTarget {
    /// Refuses a place where something would be lost. Blocks.
    ///
    /// - Parameters:
    ///   - path: The place, as bytes.
    ///   - isReplacing: Whether a file that has the name may go.
    ///   - originals: Paths of the originals of all tapes. None of them is ever replaced, under whatever name (rule R6).
    /// - Throws: `TapesError` `.targetUnusable` for an original, and for what is no regular file: a link itself, a
    ///   directory, a device; `.targetExists`.
    public static func check(
        _ path: [UInt8],
        replacing isReplacing: Bool,
        originals: [[UInt8]]
    ) throws(TapesError) {
        var named = stat()
        guard !path.contains(0) else { throw TapesError(.targetUnusable, detail: "no name has a NUL", path: path) }
        // Whatever else is wrong with the place shows when it is written to.
        guard lstat(path.map(CChar.init(bitPattern:)) + [0], &named) == 0 else { return }
        if let file = FileIdentity(ofRegularFile: path), originals.contains(where: { file.isFile(at: $0) }) {
            throw TapesError(.targetUnusable, detail: "it is an original of a tape", path: path)
        }
        guard isReplacing else { throw TapesError(.targetExists, path: path) }
        guard named.st_mode & S_IFMT == S_IFREG else {
            throw TapesError(.targetUnusable, detail: "it is not a regular file", path: path)
        }
    }
}

extension FileIdentity {
    /// Whether a path leads to this very file.
    fileprivate func isFile(at path: [UInt8]) -> Bool {
        guard let other = FileIdentity(ofRegularFile: path) else { return false }
        return (device, inode) == (other.device, other.inode)
    }
}
