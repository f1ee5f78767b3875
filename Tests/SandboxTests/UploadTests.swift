import Foundation
import TestSupport
import Testing

@Suite struct UploadTests {
    /// Fields, file name, part type, content → status and message (gighive contract 2.1, 2.4, 2.5).
    struct Refusal: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var path: String
        var status: Int
        /// Nil for an HTML page.
        var message: String?
        var testDescription: String { arguments.joined(separator: " ") }

        init(_ arguments: [String], path: String = "/api/uploads.php", _ status: Int, _ message: String? = nil) {
            (self.arguments, self.path, self.status, self.message) = (arguments, path, status, message)
        }
    }

    private static let good = ["-F", "file=@FILE;filename=a.mp4;type=video/mp4"]
    private static let label = ["-F", "label=x"]

    static let refusals = [
        Refusal(good, 400, "Label is required"),
        Refusal(good + ["-F", "label=  "], 400, "Label is required"),
        Refusal(good + label + ["-F", "event_date="], 400, "Invalid event_date format; expected YYYY-MM-DD"),
        Refusal(good + label + ["-F", "event_date=1.2.2026"], 400, "Invalid event_date format; expected YYYY-MM-DD"),
        Refusal(good + label + ["-F", "event_date=2026-02-30"], 500, "SQLSTATE[22007]"),
        Refusal(good + label + ["-F", "event_type=party"], 500, "SQLSTATE[01000]"),
        Refusal(good + label + ["-F", "org_name=" + String(repeating: "o", count: 129)], 500, "SQLSTATE[22001]"),
        Refusal(good + label + ["-F", "rating=10"], 500, "SQLSTATE[22003]"),
        Refusal(label + ["-F", "file=@EMPTY;filename=a.mp4"], 400, "Empty upload"),
        Refusal(
            label + ["-F", "file=@FILE;filename=clip.bin;type=application/octet-stream"],
            400,
            "Unsupported media type"
        ),
        Refusal(good + good + label, 400, "Multiple files not supported yet"),
        Refusal(label, 413, "Upload exceeded server limits"),
        Refusal(["-F", "file=text"] + label, 413, "Upload exceeded server limits"),
        Refusal(["-d", "label=x"], path: "/api/uploads", 413, "Upload exceeded server limits"),
        Refusal(["-d", "label=x"], path: "/api/media-files", 415),
        Refusal(["-X", "POST"], 400, "Missing file field"),
    ]

    @Test(arguments: refusals)
    func refusesAccordingToTheContract(_ refusal: Refusal) async throws {
        let fixture = try await Fixture()
        let file = try fixture.file(content: "content")
        let empty = try fixture.file(content: "")
        let arguments = refusal.arguments.map {
            $0.replacingOccurrences(of: "FILE", with: file).replacingOccurrences(of: "EMPTY", with: empty)
        }
        let response = try await curl(["-u", "admin:admin"] + arguments + [fixture.sandbox.baseURL + refusal.path])
        #expect(response.status == refusal.status)
        if let message = refusal.message {
            #expect(try response.string("message")?.hasPrefix(message) == true)
        } else {
            #expect(response.text.hasPrefix("<!doctype html>"))
        }
        let listing = try await fixture.get("/db/database.php?format=json")
        #expect(listing.text.contains(#""total":0,"#))
        #expect(try fixture.storedFiles().isEmpty)
        #expect(try fixture.incomingFiles().isEmpty)
    }

    /// The edge cases that were verified on the real server (gighive contract 2.4).
    @Test(arguments: [
        ("x.mp3", "application/octet-stream", "audio"),
        ("noextension", "video/mp4", "video"),
        ("CLIP.MOV", "application/octet-stream", "video"),
        ("a.mp4", "audio/mp4", "audio"),
    ])
    func accepts(name: String, type: String, kind: String) async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(content: "just text")
        let response = try await curl([
            "-u", "uploader:uploader", "-F", "file=@\(path);filename=\(name);type=\(type)", "-F", "label=x",
            fixture.sandbox.baseURL + "/api/media-files",
        ])
        #expect(response.status == 201)
        #expect(try response.string("file_type") == kind)
        #expect(try response.string("mime_type") == type)
        #expect(try fixture.storedFiles() == [try #require(try response.string("file_name"))])
    }

    @Test func storesTheBytesByDigestAndServesThem() async throws {
        let fixture = try await Fixture()
        // 300 kB of pseudo-random bytes, interspersed with text that resembles multipart boundaries.
        var bytes = Data()
        for seed in 0..<300 {
            bytes.append(contentsOf: randomBytes(1000, seed: seed) + Array("\r\n--------------------------".utf8))
        }
        let path = try fixture.file(content: "")
        try bytes.write(to: URL(fileURLWithPath: path))
        let upload = try await fixture.upload(path)
        let url = "/video/" + (try #require(try upload.string("file_name")))
        #expect(try await fixture.get(url).body == bytes)
        let range = try await fixture.get(url, options: ["-r", "100000-199999"])
        #expect(range.status == 206)
        #expect(range.body == bytes[100_000..<200_000])
        #expect(range.headers["content-range"] == "bytes 100000-199999/\(bytes.count)")
        let head = try await fixture.get(url, options: ["-I"])
        #expect(head.status == 200)
        #expect(head.headers["content-length"] == String(bytes.count))
        #expect(try await fixture.get(url, options: ["-r", "9999999-"]).status == 416)
    }

    @Test func anOverLongLabelLosesTheToken() async throws {
        let long = "label=" + String(repeating: "é", count: 256)
        for (dialect, retryStatus) in [("d1", 201), ("d2", 409), ("d3", 201)] {
            let fixture = try await Fixture(dialect: dialect)
            let path = try fixture.file(content: "t7")
            let fields = dialect == "d3" ? [long] : ["label=" + String(repeating: "e", count: 256)]
            #expect(try await fixture.upload(path, fields: fields).status == 500)
            #expect(try fixture.storedFiles().count == 1)
            let retry = try await fixture.upload(path)
            #expect(retry.status == retryStatus)
            #expect(try retry.string("delete_token") == nil)
        }
    }

    @Test func oneOfFourIdenticalConcurrentUploadsIsNew() async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(size: 500_000)
        let responses = try await withThrowingTaskGroup(of: CurlResponse.self) { group in
            for _ in 0..<4 { group.addTask { try await fixture.upload(path) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let new = responses.filter { $0.status == 201 }
        #expect(new.count == 1)
        #expect(try new.first?.string("delete_token")?.count == 64)
        #expect(responses.filter { $0.status == 409 || $0.text.contains("1062 Duplicate entry") }.count == 3)
        #expect(try fixture.storedFiles().count == 1)
    }

    /// Keys from gighive contract 2.5.
    @Test(arguments: [
        (
            "d3",
            "{id: number, asset_id: number, file_name: string, file_ext: string, file_type: string, "
                + "mime_type: string, size_bytes: number, checksum_sha256: string, duration_seconds: number, "
                + "source_relpath: string}"
        ),
        (
            "d1",
            "{id: number, file_name: string, file_type: string, mime_type: string, size_bytes: number, "
                + "checksum_sha256: string, session_id: number, seq: number, created_at: string}"
        ),
    ])
    func showsAnAsset(dialect: String, shape: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        let upload = try await fixture.upload(try fixture.file(content: "shown"))
        for path in ["/api/uploads/1", "/api/uploads.php/1"] {
            let asset = try await fixture.get(path, user: "uploader")
            #expect(try JSONShape(asset.text).description == shape)
            #expect(try asset.string("checksum_sha256") == upload.string("checksum_sha256"))
            // In every dialect this is the served name.
            #expect(try asset.string("file_name") == asset.string("checksum_sha256").map { $0 + ".mp4" })
        }
        #expect(try await fixture.get("/api/uploads/2", user: "uploader").text == #"{"error":"Not Found"}"#)
    }

    /// The two 500 responses caused by a failing disk: one while the body arrives, and one when the file is stored.
    @Test(arguments: [
        ("incoming", "Server Error", "Upload failed with code 7"), ("media/video", "Server error", "rename: "),
    ])
    func diskFailuresAreServerErrors(folder: String, error: String, message: String) async throws {
        let fixture = try await Fixture()
        try FileManager.default.removeItem(atPath: fixture.sandbox.data.file(folder))
        let path = try fixture.file(size: 300_000)
        let response = try await fixture.upload(path)
        #expect(response.status == 500)
        #expect(try response.string("error") == error)
        #expect(try response.string("message")?.hasPrefix(message) == true)
        try makeDirectory(fixture.sandbox.data.file(folder))
        #expect(try await fixture.upload(path).status == 201)
    }

    @Test func theListingFilters() async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(content: "one")
        for day in ["01", "02", "03"] {
            _ = try await fixture.upload(path, fields: ["event_date=2026-05-\(day)", "org_name=Org \(day)"])
        }
        func total(_ query: String) async throws -> Int? {
            let response = try await fixture.get("/db/database.php?format=json&\(query)")
            return (try response.object()["pagination"] as? [String: Any])?["total"] as? Int
        }
        #expect(try await total("view=event") == 3)
        #expect(try await total("view=librarian") == 1)
        #expect(try await total("date=2026-05-02") == 1)
        #expect(try await total("org_name=org+01|03") == 2)
        #expect(try await total("org_name=org%26!02") == 2)
        #expect(try await total("item_label=nothing") == 0)
        #expect(try await total("file_type=video") == 3)
        #expect(try await total("source_relpath=clip.mp4") == 3)
        #expect(try await total("event_id=2") == 1)
    }
}

extension Fixture {
    /// Names of uploads in progress.
    func incomingFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: sandbox.data.file("incoming"))
    }

    /// Names of the files in the media folders.
    func storedFiles() throws -> [String] {
        try ["audio", "video"].flatMap {
            try FileManager.default.contentsOfDirectory(atPath: sandbox.data.file("media/\($0)"))
        }
    }
}
