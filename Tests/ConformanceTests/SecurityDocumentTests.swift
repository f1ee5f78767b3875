import Foundation
import FuzzEntries
import TestSupport
import Testing

/// Every promise in `docs/security.md` has an existing test.
@Suite("Security document")
struct SecurityDocumentTests {
    private static func document() throws -> String {
        try Repository.text("docs/security.md")
    }

    /// The text of all Swift files in a target.
    private static func source(of target: Substring) throws -> String {
        let folder = Repository.root.appending(path: "Tests/\(target)")
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return try names.filter { $0.hasSuffix(".swift") }.map {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
        }.joined(separator: "\n")
    }

    @Test("every test in the document exists")
    func namedTestsExist() throws {
        let names = try Self.document().matches(of: /`([A-Za-z]+(?:Tests|Support))\/([A-Za-z]+)(?:\/([A-Za-z]+))?`/)
        #expect(names.count >= 15)
        for name in names {
            let source = try Self.source(of: name.1)
            #expect(source.contains("struct \(name.2) ") || source.contains("class \(name.2):"), "\(name.0)")
            if let function = name.3 {
                #expect(source.contains("func \(function)("), "\(name.0)")
            }
        }
    }

    @Test("every fuzzing target is in the document's table")
    func fuzzTargetsAreInTheTable() throws {
        let document = try Self.document()
        for entry in FuzzEntry.allCases {
            #expect(document.contains("| `\(entry.rawValue)` |"))
        }
    }
}
