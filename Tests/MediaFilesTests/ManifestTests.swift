import Foundation
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct ManifestTests {
    typealias Row = Manifest.Row
    typealias RowError = Manifest.RowError

    static let tables: [(text: String, rows: [Row])] = [
        ("path\n", []),
        ("path", []),
        ("path\na.mp4\n", [Row(line: 2, path: "a.mp4", fields: [:])]),
        ("path,label\r\na.mp4,One\r\nb.mp4,Two", [row(2, "a.mp4", label: "One"), row(3, "b.mp4", label: "Two")]),
        ("\u{FEFF}path,label\na,x\n", [row(2, "a", label: "x")]),
        ("\u{FEFF}\"path\",\"label\"\na,x\n", [row(2, "a", label: "x")]),
        ("label,path\nx,a\n", [row(2, "a", label: "x")]),
        ("path,label\n\"a,b\",\"say \"\"hi\"\"\"\n", [row(2, "a,b", label: "say \"hi\"")]),
        (
            "path,label\na,\"two\nlines\"\nb,\"x\r\ny\"\nc,z\n",
            [row(2, "a", label: "two\nlines"), row(4, "b", label: "x\r\ny"), row(6, "c", label: "z")]
        ),
        ("path,label\na,\nb,\"\"\nc,  \n", [row(2, "a"), row(3, "b"), row(4, "c")]),
        ("path,label\n\na,x\n\r\n\nb,y\n\n", [row(3, "a", label: "x"), row(6, "b", label: "y")]),
        ("path,label\n a , x \n", [row(2, " a ", label: " x ")]),
        ("path,label\na,\"\"\"\"\n", [row(2, "a", label: "\"")]),
        ("path,label\nä/€😀.mp4,naïve\n", [row(2, "ä/€😀.mp4", label: "naïve")]),
        (
            "path,event_date,org_name,event_type,label,participants,keywords,location,rating,notes\na,b,c,d,e,f,g,h,5,i\n",
            [
                Row(
                    line: 2,
                    path: "a",
                    fields: [
                        "event_date": "b", "org_name": "c", "event_type": "d", "label": "e", "participants": "f",
                        "keywords": "g", "location": "h", "rating": "5", "notes": "i",
                    ]
                )
            ]
        ),
    ]

    static func row(_ line: Int, _ path: String, label: String? = nil) -> Row {
        Row(line: line, path: path, fields: label.map { ["label": $0] } ?? [:])
    }

    @Test(arguments: tables) func csv(table: (text: String, rows: [Row])) throws {
        #expect(try WholeManifest(reading: Array(table.text.utf8), as: .csv).rows == table.rows)
    }

    static let objects: [(text: String, rows: [Row])] = [
        ("", []),
        ("{\"path\":\"a\"}", [row(1, "a")]),
        (
            "\u{FEFF}{\"path\":\"a\"}\r\n\r\n \n{\"path\":\"b\",\"label\":\"x\"}\n",
            [row(1, "a"), row(4, "b", label: "x")]
        ),
        (" { \"path\" : \"a\" , \"rating\" : 4.50 } ", [Row(line: 1, path: "a", fields: ["rating": "4.50"])]),
        ("{\"path\":\"a\",\"rating\":-1e+3}", [Row(line: 1, path: "a", fields: ["rating": "-1e+3"])]),
        ("{\"path\":\"a\",\"label\":null,\"notes\":\"\",\"keywords\":\" \"}", [row(1, "a")]),
        (
            #"{"path":"a","label":"\"\\\/\b\f\n\r\t\u00e4\u20AC\ud83d\ude00"}"#,
            [row(1, "a", label: "\"\\/\u{8}\u{C}\n\r\tä€😀")]
        ),
        (#"{"\u0070ath":"a"}"#, [row(1, "a")]),
        ("{\"path\":\"a, b: {c}\",\"label\":\"ä\"}", [row(1, "a, b: {c}", label: "ä")]),
    ]

    @Test(arguments: objects) func jsonLines(table: (text: String, rows: [Row])) throws {
        #expect(try WholeManifest(reading: Array(table.text.utf8), as: .jsonLines).rows == table.rows)
    }

    static let unknown = "unknown column; valid columns: " + Manifest.columns.joined(separator: ", ")

    static let faultyTables: [(text: String, errors: [RowError])] = [
        ("", [RowError(line: 1, reason: "the header line is missing")]),
        ("\n\r\n", [RowError(line: 1, reason: "the header line is missing")]),
        ("label\nx\n", [RowError(line: 1, column: "path", reason: "no such column")]),
        (
            "path,Label,label,label,path\n",
            [
                RowError(line: 1, column: "Label", reason: unknown),
                RowError(line: 1, column: "label", reason: "duplicate column"),
                RowError(line: 1, column: "path", reason: "duplicate column"),
            ]
        ),
        ("path,\na,\n", [RowError(line: 1, column: "", reason: unknown)]),
        (
            "path;label\na;x\n",
            [RowError(line: 1, reason: "columns must be separated by commas, not semicolons or tabs")]
        ),
        ("path\tlabel\n", [RowError(line: 1, reason: "columns must be separated by commas, not semicolons or tabs")]),
        ("\"path\na\n", [RowError(line: 1, reason: "unterminated quote")]),
        // An invalid header does not hide errors in the rows.
        (
            "path,title\na\n,x\nb,y\n",
            [
                RowError(line: 1, column: "title", reason: unknown),
                RowError(line: 2, reason: "the row has 1 cell, the header has 2"),
                RowError(line: 3, column: "path", reason: "the path is missing"),
            ]
        ),
        (
            "path,label\na,b,c\n,x\n\"  \",x\na\"b,c\n\"a\" ,c\na,\"two\nlines\"x\na,b\rc,d\na\0,x\n\"a,b\nc,d\n",
            [
                RowError(line: 2, reason: "the row has 3 cells, the header has 2"),
                RowError(line: 3, column: "path", reason: "the path is missing"),
                RowError(line: 4, column: "path", reason: "the path is missing"),
                RowError(line: 5, reason: "a quote in an unquoted cell"),
                RowError(line: 6, reason: "text after a closing quote; double a quote inside a cell"),
                RowError(line: 8, reason: "text after a closing quote; double a quote inside a cell"),
                RowError(line: 9, reason: "a carriage return without a line feed"),
                RowError(line: 10, column: "path", reason: "the path contains a NUL byte"),
                RowError(line: 11, reason: "unterminated quote"),
            ]
        ),
    ]

    @Test(arguments: faultyTables) func errorsOfCSV(table: (text: String, errors: [RowError])) {
        #expect(throws: ManifestError(errors: table.errors)) {
            try WholeManifest(reading: Array(table.text.utf8), as: .csv)
        }
    }

    /// The error of a string that has its closing quotation mark.
    static let unusable = "the string has a character or an escape that JSON does not allow"

    static let faultyLines: [(line: String, column: String?, reason: String)] = [
        ("[]", nil, "the line is not a JSON object"),
        ("\"a\"", nil, "the line is not a JSON object"),
        ("{", nil, "not valid JSON at byte 2"),
        ("{\"path\":\"a\",}", nil, "not valid JSON at byte 13"),
        ("{path:\"a\"}", nil, "not valid JSON at byte 2"),
        ("{\"path\" \"a\"}", nil, "not valid JSON at byte 9"),
        ("{\"path\":\"a\"", nil, "not valid JSON at byte 12"),
        ("{\"path\":\"a\" \"label\":\"x\"}", nil, "not valid JSON at byte 13"),
        ("{\"path\":\"a\"} x", nil, "text after the object"),
        ("{\"path\":\"a\"}{\"path\":\"b\"}", nil, "text after the object"),
        ("{\"path\":\"a", nil, "not valid JSON at byte 11"),
        ("{\"path\":\"a\\\"}", nil, "not valid JSON at byte 14"),
        ("{\"pa", nil, "not valid JSON at byte 5"),
        ("{\"path\":\"a\tb\"}", "path", unusable),
        (#"{"path":"\x41"}"#, "path", unusable),
        (#"{"path":"\u12"}"#, "path", unusable),
        (#"{"path":"\u+123"}"#, "path", unusable),
        (#"{"path":"\ud83d"}"#, "path", unusable),
        (#"{"path":"\ud83dx"}"#, "path", unusable),
        (#"{"path":"\ud83d\u0041"}"#, "path", unusable),
        (#"{"path":"\ude00"}"#, "path", unusable),
        (#"{"path":"a\u0000"}"#, "path", "the path contains a NUL byte"),
        ("{\"path\":true}", "path", "the value is neither a string nor a number"),
        ("{\"path\":[\"a\"]}", "path", "the value is neither a string nor a number"),
        ("{\"path\":{}}", "path", "the value is neither a string nor a number"),
        ("{\"path\":}", "path", "the value is neither a string nor a number"),
        ("{\"path\":\"a\",\"rating\":05}", "rating", "the value is neither a string nor a number"),
        ("{\"path\":\"a\",\"rating\":.5}", "rating", "the value is neither a string nor a number"),
        ("{\"path\":\"a\",\"rating\":NaN}", "rating", "the value is neither a string nor a number"),
        ("{}", "path", "the path is missing"),
        ("{\"path\":null}", "path", "the path is missing"),
        ("{\"path\":\"\"}", "path", "the path is missing"),
        ("{\"path\":\"a\",\"path\":\"a\"}", "path", "duplicate column"),
        ("{\"path\":\"a\",\"title\":\"x\"}", "title", unknown),
    ]

    @Test(arguments: faultyLines) func errorsOfJSONLines(row: (line: String, column: String?, reason: String)) {
        let text = "{\"path\":\"good\"}\n" + row.line + "\n"
        #expect(throws: ManifestError(errors: [RowError(line: 2, column: row.column, reason: row.reason)])) {
            try WholeManifest(reading: Array(text.utf8), as: .jsonLines)
        }
    }

    @Test func errorsOfAllLinesAreReported() {
        let text = "{\n{\"path\":\"a\"}\n\n{\"label\":\"x\"}\n"
        let errors = [
            RowError(line: 1, reason: "not valid JSON at byte 2"),
            RowError(line: 4, column: "path", reason: "the path is missing"),
        ]
        #expect(throws: ManifestError(errors: errors)) { try WholeManifest(reading: Array(text.utf8), as: .jsonLines) }
    }

    @Test func textThatIsNotUTF8() {
        let csv = Array("path,label\n".utf8) + [0xFF, 0x2C, 0xC3, 0x0A] + Array("a,b\n".utf8)
        let errors = ["path", "label"].map { RowError(line: 2, column: $0, reason: "the text is not UTF-8") }
        #expect(throws: ManifestError(errors: errors)) { try WholeManifest(reading: csv, as: .csv) }
        let json = Array("{\"path\":\"".utf8) + [0xFF] + Array("\"}\n".utf8)
        #expect(throws: ManifestError(errors: [RowError(line: 1, reason: "the text is not UTF-8")])) {
            try WholeManifest(reading: json, as: .jsonLines)
        }
        for format in Manifest.Format.allCases {
            #expect(throws: ManifestError(errors: [RowError(line: 1, reason: "the text is UTF-16; save it as UTF-8")]))
            {
                try WholeManifest(reading: [0xFF, 0xFE, 0x70, 0x00], as: format)
            }
        }
    }

    @Test(arguments: [
        (Manifest.Format.csv, "path\n" + String(repeating: "a,b\n", count: 500)),
        (.csv, "path\n" + String(repeating: "\"\n", count: 501)),
        (.csv, String(repeating: "x,", count: 500)),
        (.jsonLines, String(repeating: "x\n", count: 500)),
    ])
    func theNumberOfReportedErrorsIsLimited(format: Manifest.Format, text: String) throws {
        let error = try #require(throws: ManifestError.self) {
            try WholeManifest(reading: Array(text.utf8), as: format)
        }
        #expect(error.errors.count == 100)
    }

    static let formats: [(name: String, content: String, format: Manifest.Format)] = [
        ("list.csv", "{", .csv), ("LIST.CSV", "", .csv), ("dir/list.jsonl", "path", .jsonLines),
        ("list.ndjson", "", .jsonLines), ("list.json", "", .jsonLines),
        ("list", "{\"path\"", .jsonLines), ("-", " \r\n\t{", .jsonLines), ("-", "\u{FEFF}{", .jsonLines),
        ("-", "path,label", .csv), ("-", "", .csv), ("list.txt", "\"path\"", .csv),
    ]

    @Test(arguments: formats) func formatOfAFile(row: (name: String, content: String, format: Manifest.Format)) {
        #expect(Manifest.format(fileName: row.name, firstBytes: Array(row.content.utf8)) == row.format)
    }

    /// Python writes files that are hard to parse; the values must be the same.
    @Test func filesWrittenByPythonAreParsed() throws {
        let script = """
            import csv, json, random, sys
            random.seed(7)
            rows = [["".join(random.choice('a,"\\n\\r ;\\'ä😀') for _ in range(random.randint(0, 9))) for _ in range(2)]
                    for _ in range(500)]
            rows = [["p" + path, label] for path, label in rows]
            with open(sys.argv[1] + "/m.csv", "w", newline="") as file:
                writer = csv.writer(file); writer.writerow(["path", "label"]); writer.writerows(rows)
            for name, ascii in [("m.jsonl", True), ("u.jsonl", False)]:
                with open(sys.argv[1] + "/" + name, "w") as file:
                    for path, label in rows:
                        file.write(json.dumps({"path": path, "label": label}, ensure_ascii=ascii) + "\\n")
            """
        let directory = try TemporaryDirectory()
        let ending = try ChildProcess.run("python3", ["-c", script, directory.path])
        try #require(ending.status == 0, "\(ending.errors)")
        let read = { (name: String, format: Manifest.Format) in
            try WholeManifest(reading: Array(Data(contentsOf: URL(filePath: directory.file(name)))), as: format).rows
        }
        let csv = try read("m.csv", .csv)
        #expect(csv.count == 500)
        #expect(csv.contains { $0.fields["label"]?.contains("\"") == true && $0.line > 500 })
        for name in ["m.jsonl", "u.jsonl"] {
            let json = try read(name, .jsonLines)
            #expect(json.map(\.line) == Array(1...500))
            #expect(json.map(\.path) == csv.map(\.path))
            #expect(json.map(\.fields) == csv.map(\.fields))
        }
    }

    /// Any truncation and any changed byte results in rows or errors, never in a trap.
    @Test(arguments: Manifest.Format.allCases) func brokenManifestsAreSafe(format: Manifest.Format) {
        let text =
            switch format {
            case .csv: "path,label\r\n\"a\"\"\n\",x\r\nb,\"ä\"\r\n"
            case .jsonLines: #"{"path":"a\u00e4\ud83d\ude00","rating":1.5e3,"label":null}"# + "\n"
            }
        let whole = Array(text.utf8)
        for count in 0...whole.count { _ = try? WholeManifest(reading: Array(whole[..<count]), as: format) }
        for index in whole.indices {
            for byte in [0, 0x0A, 0x0D, 0x22, 0x2C, 0x5C, 0x7B, 0x7D, 0x80, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = byte
                _ = try? WholeManifest(reading: changed, as: format)
            }
        }
    }
}

private struct ManifestError: Error, Equatable {
    var errors: [Manifest.RowError]
}

/// A manifest without errors.
private struct WholeManifest {
    let rows: [Manifest.Row]

    init(reading bytes: [UInt8], as format: Manifest.Format) throws(ManifestError) {
        let (rows, errors) = Manifest.rowsAndErrors(in: bytes, as: format)
        guard errors.isEmpty else { throw ManifestError(errors: errors) }
        self.rows = rows
    }
}
