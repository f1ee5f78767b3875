internal import MediaCore
internal import MediaFiles

/// A playlist in the extended M3U form: UTF-8, LF, one entry a medium. Names are made safe, so that none can begin a line
/// of its own; locations are bytes that the system opens, in whatever encoding they are.
struct M3UPlaylist {
    /// One medium.
    struct Entry {
        /// nil is unknown.
        var milliseconds: Int64?
        /// What a player shows.
        var name: [UInt8]
        /// A path, absolute or beginning with `./`; see `line(for:)`.
        var location: [UInt8]
    }

    var title: String
    var entries: [Entry]

    /// The bytes of the file.
    var bytes: [UInt8] {
        var lines: [[UInt8]] = [Array("#EXTM3U".utf8), Array("#PLAYLIST:\(TerminalText.escaped(title))".utf8)]
        for entry in entries {
            let name = TerminalText.escaped(entry.name)
            lines.append(Array("#EXTINF:\(Self.seconds(entry.milliseconds)),\(name)".utf8))
            lines.append(entry.location)
        }
        return Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined())
    }

    /// Whole seconds, as players of every age read them; at least 1 where anything is known, since 0 is no length to some.
    private static func seconds(_ milliseconds: Int64?) -> Int64 {
        guard let milliseconds else { return -1 }
        return max(1, (milliseconds + 500) / 1000)
    }

    /// The location of a file by its absolute path: the path itself, or, where a line cannot hold it, its URL.
    ///
    /// - Parameter path: Absolute, as bytes.
    /// - Returns: One line, without its end.
    static func line(for path: [UInt8]) -> [UInt8] {
        // A name that could steer a terminal, or that looks like another, is not written as it is.
        let isPlain = TerminalText.isPlain(path)
        // Players cut blanks at the end of a line off.
        if isPlain, let last = path.last, last != UInt8(ascii: " "), last != UInt8(ascii: "\t") { return path }
        return Array(FileURL.text(of: path).utf8)
    }
}

extension TerminalText {
    /// Whether the bytes hold no control and no format character; bytes that are no UTF-8 are no such characters.
    fileprivate static func isPlain(_ path: [UInt8]) -> Bool {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = path.makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if isDangerous(scalar) || scalar.properties.generalCategory == .format { return false }
            case .error: break
            case .emptyInput: return true
            }
        }
    }
}
