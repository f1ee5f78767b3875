import Foundation
import Testing

@testable import MediaStore

/// The details of an upload as they are stored in its row.
@Suite("Stored details")
struct UploadFieldsTests {
    @Test(
        "a row returns the details that were written",
        arguments: [
            [], [("label", "Encore")], [("label", "a \"b\" \\ c"), ("notes", "two\nlines\tand \u{1}")],
            [("label", "Zürich 日本 👩‍👩‍👧"), ("org_name", ""), ("notes", "\u{7f}\u{2028}")],
        ]
    )
    func fields(fields: [(String, String)]) throws {
        let json = UploadRow.json(fields.map { UploadField($0.0, $0.1) })
        // Read by Foundation, not by this project's reader.
        let read = try JSONDecoder().decode([[String: String]].self, from: Data(json.utf8))
        #expect(read == fields.map { ["name": $0.0, "value": $0.1] })
    }
}
