extension [UInt8] {
    /// The last component of a path; the whole path if it has no slash.
    package var nameOfPath: [UInt8] {
        Array(self[(lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
    }

    /// The directory of a path, without a trailing slash unless it is the root; `.` if the path has no slash.
    package var directoryOfPath: [UInt8] {
        guard let slash = lastIndex(of: UInt8(ascii: "/")) else { return [UInt8(ascii: ".")] }
        return Array(self[..<Swift.max(slash, 1)])
    }

    /// This path, which may be relative to `directory`, as an absolute path without `.` and empty components; `..` is
    /// kept, since the component before it may be a link. `directory` is only evaluated for a relative path.
    package func absolute(from directory: @autoclosure () -> [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let whole = first == slash ? self : directory() + [slash] + self
        let components = whole.split(separator: slash).filter { $0 != [UInt8(ascii: ".")] }
        return components.isEmpty ? [slash] : components.reduce(into: []) { $0 += [slash] + $1 }
    }

    /// The last component as text, ignoring trailing slashes; invalid UTF-8 becomes U+FFFD. May be empty.
    package var fileName: String { String(decoding: split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }
}

extension String {
    /// The parts of a file name before and after its last dot. `.hidden` and `name.` have no extension.
    package var nameParts: (stem: String, pathExtension: String) {
        guard let dot = lastIndex(of: "."), dot != startIndex, index(after: dot) != endIndex else { return (self, "") }
        return (String(self[..<dot]), String(self[index(after: dot)...]))
    }
}
