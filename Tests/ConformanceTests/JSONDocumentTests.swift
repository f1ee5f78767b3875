import Foundation
import TestSupport
import Testing

/// `scripts/json-docs.py`, which `make lint` runs, on a small tree.
@Suite struct JSONDocumentTests {
    private static let mark = "<!-- Written by scripts/json-docs.py from docs/schemas from here on. -->\n"

    private static let schema = """
        {
            "$id": "mediactl.drop-box-list-1.json", "title": "mediactl drop-box list",
            "oneOf": [{"properties": {
                "schema": {"const": "mediactl.drop-box-list/1"}, "type": {"const": "item"},
                "weight": {"description": "Weight in grams."}
            }}]
        }
        """

    @Test func aSchemaOfANewGroupIsDocumented() async throws {
        let tree = try TemporaryDirectory()
        try makeDirectory(tree.file("docs/schemas"))
        try makeDirectory(tree.file("scripts"))
        let script = tree.file("scripts/json-docs.py")
        try FileManager.default.copyItem(atPath: Repository.path("scripts/json-docs.py"), toPath: script)
        try Data(Self.schema.utf8).write(to: URL(filePath: tree.file("docs/schemas/drop-1.json")))
        let document = URL(filePath: tree.file("docs/json.md"))
        try Data("# JSON\n\n\(Self.mark)".utf8).write(to: document)

        let old = try await ChildProcess(script, ["--check"], home: tree).finish(deadline: .seconds(60))
        #expect(old.status == 1)
        let written = try await ChildProcess(script, [], home: tree).finish(deadline: .seconds(60))
        #expect(written.status == 0, "\(written.errors)")
        let text = try String(contentsOf: document, encoding: .utf8)
        #expect(text.contains("\n## Drop\n"))
        #expect(text.contains("\n### mediactl drop-box list\n"))
        #expect(text.contains("| `weight` | Weight in grams. |"))
        let new = try await ChildProcess(script, ["--check"], home: tree).finish(deadline: .seconds(60))
        #expect(new.status == 0)

        // A recorded session in which the order of the keys differs from the documented one.
        let sessions = tree.file("fixtures/golden/transcripts")
        try makeDirectory(sessions)
        let record = #"{"schema":"mediactl.drop-box-list/1","weight":3,"type":"item"}"#
        try Data("$ mediactl drop-box list --json\n\(record)\n".utf8).write(to: URL(filePath: sessions + "/drop.txt"))
        let other = try await ChildProcess(script, ["--check"], home: tree).finish(deadline: .seconds(60))
        #expect(other.status == 1 && other.errors.contains("drop.txt"), "\(other)")
    }
}
