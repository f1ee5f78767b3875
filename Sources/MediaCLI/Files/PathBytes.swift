/// Paths are bytes, which need not be UTF-8.
extension [UInt8] {
    /// The path as it is when absolute, else as seen from a directory.
    func absolute(from directory: String) -> [UInt8] {
        first == UInt8(ascii: "/") ? self : Array(directory.utf8) + [UInt8(ascii: "/")] + self
    }
}
