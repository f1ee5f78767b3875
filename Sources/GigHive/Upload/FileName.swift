/// What a file name says.
enum FileName {
    /// The last component of a path; bytes that are no UTF-8 become replacement characters.
    static func last(of path: [UInt8]) -> String {
        let name = path.split(separator: UInt8(ascii: "/")).last ?? []
        return String(decoding: name, as: UTF8.self)
    }

    /// The extension in lower case, without its dot; empty when there is none.
    static func pathExtension(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
