extension [UInt8] {
    /// The last part of a path; all of it where it has no slash.
    package var nameOfPath: [UInt8] {
        Array(self[(lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
    }

    /// The directory of a path, without a slash at its end unless it is the root; `.` where the path has no slash.
    package var directoryOfPath: [UInt8] {
        guard let slash = lastIndex(of: UInt8(ascii: "/")) else { return [UInt8(ascii: ".")] }
        return Array(self[..<Swift.max(slash, 1)])
    }

    /// The last component as text, slashes at the end apart; what is no UTF-8 in it becomes U+FFFD. Empty where there is none.
    package var fileName: String { String(decoding: split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }
}
