import CaptureSubmission
import Foundation
import GigHive
import MediaCore
import MediaStore
import MediaTransport
import Outcomes
import PhotoSync
import TestSupport
import Testing

@testable import MediaCLI

/// Records against their schemas, unchanged and changed.
@Suite struct JSONSchemaTests {
    // A token of 64 characters is always accepted.
    // swift-format-ignore: NeverForceUnwrap
    static let entry = TokenEntry(
        host: "h:8080",
        fileID: 18,
        token: DeleteToken(String(repeating: "a", count: 64))!,
        createdAt: Date(timeIntervalSince1970: 1_780_000_000),
        eventDate: "2026-03-01",
        orgName: "Tus",
        eventType: "band",
        label: nil,
        fileName: "a.mp4",
        fileType: "video",
        checksumSHA256: String(repeating: "b", count: 64),
        sizeBytes: 5,
        baseURL: "http://h:8080"
    )

    private static func upload(_ state: UploadState) -> UploadResult {
        var result = UploadResult(path: Array("a.mp4".utf8), fileName: "a.mp4", server: "http://h", state: state)
        if state == .done {
            result.uploadID = "u-1"
            result.fileID = 18
            result.checksumSHA256 = String(repeating: "b", count: 64)
            result.isVerified = true
            result.warnings = [
                .notVerified, .noDeleteToken, .oddToken, .respondedInHTML, .rescued(uploadID: "u", fileID: 1),
                .unusableToken(rescuePath: "r"), .tokenKept(rescuePath: "r"), .responseKept(path: "r"),
                .tokenLostEarlier, .tokenMayBeLost, .aboveDirectLimit,
                .typeMismatch(declared: "a", sniffed: "b"),
            ]
        } else {
            result.error = GigHiveError(.serverError, httpStatus: 500)
        }
        return result
    }

    static let record = UploadRecord(
        uploadID: "u-1",
        path: Array("a.mp4".utf8),
        state: .sending,
        host: "h",
        baseURL: "http://h",
        fields: [],
        identity: nil,
        sizeBytes: 5,
        createdAt: Date(timeIntervalSince1970: 0),
        updatedAt: Date(timeIntervalSince1970: 0)
    )

    /// Schema, type and members of records that `JSONRenderer` creates.
    private static let rendered: [(schema: String, type: String, members: JSONObject)] =
        UploadState.allCases.map { ("upload", "item", JSONRenderer.upload(upload($0), contact: "c")) }
        + UploadProgress.Phase.allCases.map { phase in
            var progress = UploadProgress(path: [0x61], byteCount: 5)
            progress.phase = phase
            return ("upload", "progress", JSONRenderer.progress(progress))
        }
        + [
            ("uploads-list", "item", JSONRenderer.kept(KeptUpload(entry), isTokenShown: false)),
            ("uploads-show", "item", JSONRenderer.kept(KeptUpload(entry), isTokenShown: true)),
            ("uploads-status", "item", JSONRenderer.journal(JournalRow(record: record))),
            ("uploads-status", "item", JSONRenderer.journal(JournalRow(record: record, result: upload(.tokenLost)))),
            ("config-show", "item", JSONRenderer.setting((name: "n", value: "v", origin: .flag))),
            ("error", "error", JSONRenderer.fatal(.usage("m", hint: "h"))),
            ("media-list", "error", JSONRenderer.fatal(.usage("m"))),
            ("media-show", "error", JSONRenderer.fatal(.usage("m"))),
            ("media-find", "error", JSONRenderer.fatal(.usage("m"))),
            ("media-delete", "error", JSONRenderer.fatal(.usage("m"))),
            ("uploads-clear", "error", JSONRenderer.fatal(UserFacingError(.storeUnusable, "m"))),
        ]
        + [DeleteResult.State.deleted, .gone, .entryRemoved, .failed, .planned, .declined].map { state in
            let error = state == .failed ? GigHiveError(.invalidDeleteToken, httpStatus: 403) : nil
            let result = DeleteResult(
                fileID: 18,
                state: state,
                entry: state == .failed ? nil : entry,
                host: "",
                error: error
            )
            return ("uploads-delete", "item", FileDeletion(result: result).json)
        }

    static func schema(_ name: String) throws -> JSONSchema {
        try JSONSchema(contentsOf: Repository.path("docs/schemas/\(name)-1.json"))
    }

    @Test(arguments: rendered.indices)
    func renderedRecordsHaveTheDocumentedShape(index: Int) throws {
        let (name, type, members) = Self.rendered[index]
        let head: JSONObject = ["schema": .string("mediactl.\(name)/1"), "type": .string(type)]
        try Self.expectExactShape((head + members).json(isForTerminals: true), schema: name)
    }

    /// The record is valid, and becomes invalid if a key is removed or its type is changed, at any depth. With an
    /// additional key it is valid as a record of a later version, but not as one of this version.
    ///
    /// - Parameters:
    ///   - line: The record.
    ///   - name: Name of the schema.
    ///   - opaque: Members that contain JSON of another shape.
    /// - Throws: An error if the record breaks a rule of its schema.
    static func expectExactShape(_ line: String, schema name: String, opaque: Set<String> = []) throws {
        let schema = try schema(name)
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        let object = try #require(value as? [String: Any])
        try schema.validate(object)
        try schema.validate(object, isClosed: false)
        for changed in changes(of: object, opaque: opaque) {
            #expect(!schema.accepts(changed.value), "\(changed.what) of \(line)")
            let isAddition = changed.what.hasPrefix("an added key")
            #expect(schema.accepts(changed.value, isClosed: false) == isAddition, "\(changed.what) of \(line)")
        }
    }

    private static func changes(
        of object: [String: Any],
        opaque: Set<String> = []
    ) -> [(what: String, value: [String: Any])] {
        var changes: [(String, [String: Any])] = []
        var added = object
        added["surprise"] = 1
        changes.append(("an added key", added))
        for (name, value) in object {
            var removed = object
            removed[name] = nil
            changes.append(("removing \(name)", removed))
            var retyped = object
            retyped[name] = value is [Any] ? "text" : [1] as [Any]
            changes.append(("retyping \(name)", retyped))
            if let inner = value as? [String: Any], !opaque.contains(name) {
                for change in Self.changes(of: inner) {
                    var outer = object
                    outer[name] = change.value
                    changes.append(("\(change.what) in \(name)", outer))
                }
            }
        }
        return changes
    }

    @Test func everySchemaIsDocumented() throws {
        let text = try Repository.text("docs/json.md")
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.path("docs/schemas"))
        #expect(!names.isEmpty)
        for name in names {
            #expect(text.contains("schemas/\(name)"), "\(name)")
            let data = try Repository.data("docs/schemas/\(name)")
            let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            for case let kind as [String: Any] in root["oneOf"] as? [Any] ?? [root] {
                for key in kind["required"] as? [String] ?? [] {
                    #expect(text.contains("`\(key)`"), "\(key) of \(name)")
                }
            }
        }
    }

    @Test func exitCodesAreDocumented() throws {
        let text = try Repository.text("docs/exit-codes.md")
        for code in ExitCode.allCases {
            #expect(text.contains("| \(code.rawValue) | \(code.meaning) |"))
        }
    }
}

extension ChildResult {
    /// Every line of a run with `--json` is a record of the documented shape.
    func expectShapes(_ schema: String) throws {
        #expect(!lines.isEmpty)
        for line in lines { try JSONSchemaTests.expectExactShape(line, schema: schema) }
    }
}
