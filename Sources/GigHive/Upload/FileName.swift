/// What a file name says.
enum FileName {
    /// The extension in lower case, without its dot; empty when there is none.
    static func pathExtension(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
