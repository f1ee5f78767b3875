internal import Glibc

/// Absolute paths, as bytes, that lead where the given ones led.
enum AbsolutePath {
    /// The path from the root of what a user has given.
    ///
    /// `.` and doubled slashes go. `name/..` goes only where `name` is a directory and no link: behind a link `..` is
    /// elsewhere. Nothing else is resolved, so that a link that the user names stays the name of the original.
    ///
    /// - Parameters:
    ///   - path: As given; a relative one starts at the directory.
    ///   - directory: The current directory.
    /// - Returns: The path; a slash at the end stays, as it asks for a directory.
    static func of(_ path: [UInt8], in directory: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let whole = path.first == slash ? path : directory + [slash] + path
        var kept: [[UInt8]] = []
        for part in whole.split(separator: slash).map(Array.init) {
            switch part {
            case [UInt8(ascii: ".")]:
                continue
            case [UInt8(ascii: "."), UInt8(ascii: ".")]:
                // The root is its own parent.
                if kept.isEmpty { continue }
                if isPlainDirectory(joined(kept)) {
                    kept.removeLast()
                } else {
                    kept.append(part)
                }
            default:
                kept.append(part)
            }
        }
        let isDirectoryWanted = whole.last == slash && !kept.isEmpty
        return joined(kept) + (isDirectoryWanted ? [slash] : [])
    }

    /// The current directory; nil when it was removed.
    static var currentDirectory: [UInt8]? {
        // By a length that the system grows itself.
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.isEmpty ? [UInt8(ascii: "/")] : parts.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    private static func isPlainDirectory(_ path: [UInt8]) -> Bool {
        var status = stat()
        guard !path.contains(0), lstat(path.map(CChar.init(bitPattern:)) + [0], &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}
