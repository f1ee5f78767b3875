import Testing

@testable import MediaFiles

@Suite struct PathListTests {
    static let lists: [(text: String, separator: PathList.Separator, paths: [String])] = [
        ("", .line, []),
        ("a\nb\n", .line, ["a", "b"]),
        ("a\nb", .line, ["a", "b"]),
        ("a\r\nb\r\n", .line, ["a", "b"]),
        ("a\n\n\r\nb\n\n", .line, ["a", "b"]),
        (" a \n\t\n", .line, [" a ", "\t"]),
        ("a\rb\n", .line, ["a\rb"]),
        ("\u{FEFF}a\nb", .line, ["a", "b"]),
        ("#a\n\"b\"\n", .line, ["#a", "\"b\""]),
        ("", .zero, []),
        ("a\0b\0", .zero, ["a", "b"]),
        ("a\0b", .zero, ["a", "b"]),
        ("a\nb\0\n\0 \r\n\0", .zero, ["a\nb", "\n", " \r\n"]),
        ("\u{FEFF}a\0", .zero, ["\u{FEFF}a"]),
    ]

    @Test(arguments: lists) func listsOfPaths(row: (text: String, separator: PathList.Separator, paths: [String]))
        throws
    {
        let paths = try PathList.paths(in: Array(row.text.utf8), separatedBy: row.separator)
        #expect(paths == row.paths.map { Array($0.utf8) })
    }

    static let faults: [(text: String, separator: PathList.Separator, entry: Int, reason: String)] = [
        ("a\0b\0", .line, 1, "the path contains a NUL byte"),
        ("a\n\nb\0\n", .line, 3, "the path contains a NUL byte"),
        ("\0", .zero, 1, "the path is empty"),
        ("a\0\0b\0", .zero, 2, "the path is empty"),
        ("a\0\0", .zero, 2, "the path is empty"),
    ]

    @Test(arguments: faults)
    func invalidListsAreReported(row: (text: String, separator: PathList.Separator, entry: Int, reason: String)) {
        #expect(throws: PathListError(entry: row.entry, reason: row.reason)) {
            try PathList.paths(in: Array(row.text.utf8), separatedBy: row.separator)
        }
    }

    @Test(arguments: [(PathList.Separator.line, UInt8(0x0A)), (.zero, 0)])
    func pathsAreBytes(separator: PathList.Separator, end: UInt8) throws {
        let bytes: [UInt8] = [0xFF, 0xFE, end, 0xC3, end]
        #expect(try PathList.paths(in: bytes, separatedBy: separator) == [[0xFF, 0xFE], [0xC3]])
    }
}
