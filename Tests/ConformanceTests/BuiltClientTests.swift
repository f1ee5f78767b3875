import Foundation
import TestSupport
import Testing

/// The binary, against third-party servers, or servers behind one.
@Suite("The built client")
struct BuiltClientTests {
    static let clip = "fixtures/media/clip.mp4"
    /// `sha256sum fixtures/media/clip.mp4`
    static let clipSHA256 = "8316edbdd6f5984db3940a905dd06bf3bc49bfd7e9bef8943184df929ed670d1"

    @Test("PHP parses the fields in order, the file's name, type and bytes")
    func formAsPHPSeesIt() async throws {
        let scratch = try TemporaryDirectory()
        let php = try await ForeignProgram.php(environment: ["DUMP_FILE": scratch.file("dump.json")])
        let mediactl = try Mediactl(server: php.address, password: "uploader")
        let path = try mediactl.file("été; \"x\" 😀.mp4", try Repository.data(Self.clip))

        let ending = try await mediactl.run([
            "upload", path, "--event-date", "2026-06-13", "--org-name", "Ann & Bob", "--event-type", "wedding",
            "--label", "First dance 💃", "--participants", "Ann, Bob", "--notes", "two\nlines", "--json",
        ])

        #expect(ending.status == 0, "\(ending.output)\(ending.errors)")
        let form = try ParsedForm(json: try Data(contentsOf: URL(filePath: scratch.file("dump.json"))))
        // Fields that were not specified have no part: an empty part differs from a missing one (trap T6).
        #expect(
            Set(form.fields.compactMap(\.first)) == [
                "event_date", "org_name", "event_type", "label", "participants", "notes",
            ]
        )
        #expect(form.fields.contains(["event_date", "2026-06-13"]))
        #expect(form.fields.contains(["org_name", "Ann & Bob"]))
        #expect(form.fields.contains(["event_type", "wedding"]))
        #expect(form.fields.contains(["label", "First dance 💃"]))
        #expect(form.fields.contains(["participants", "Ann, Bob"]))
        #expect(form.files.map(\.field) == ["file"])
        #expect(form.files.map(\.name) == ["été; %22x%22 😀.mp4"])
        #expect(form.files.map(\.contentType) == ["video/mp4"])
        #expect(form.files.map(\.sha256) == [Self.clipSHA256])
    }

    @Test("upload, list and delete go through nginx with TLS", arguments: [false, true])
    func throughNginx(http2: Bool) async throws {
        let scratch = try TemporaryDirectory()
        let sandbox = try await Self.sandbox(in: scratch)
        let proxy = try await ReverseProxy(before: sandbox.address)
        let mediactl = try Mediactl(server: proxy.address(), password: "uploader")
        let path = try mediactl.file("clip.mp4", try Repository.data(Self.clip))
        let trust = ["--cacert", proxy.authority]

        let upload = try await mediactl.run([
            "upload", path, "--json", trust[0], trust[1], http2 ? "--http2" : "--verbose",
        ])
        #expect(upload.status == 0, "\(upload.output)\(upload.errors)")
        let item = try #require(try Mediactl.records(upload.output).first { $0["type"] as? String == "item" })
        #expect(item["verified"] as? Bool == true)
        #expect(item["checksum_sha256"] as? String == Self.clipSHA256)
        #expect(
            try FileManager.default.subpathsOfDirectory(atPath: scratch.path).contains { $0.contains(Self.clipSHA256) }
        )

        let deletion = try await mediactl.run("uploads", "delete", "--last", "--yes", trust[0], trust[1])
        #expect(deletion.status == 0, "\(deletion.errors)")
        #expect(
            try !FileManager.default.subpathsOfDirectory(atPath: scratch.path).contains { $0.contains(Self.clipSHA256) }
        )
    }

    @Test("a self-signed certificate is refused without --cacert, and nothing is sent")
    func untrustedCertificate() async throws {
        let scratch = try TemporaryDirectory()
        let sandbox = try await Self.sandbox(in: scratch)
        let proxy = try await ReverseProxy(before: sandbox.address)
        let mediactl = try Mediactl(server: proxy.address(), password: "uploader")
        let path = try mediactl.file("clip.mp4", try Repository.data(Self.clip))

        let ending = try await mediactl.run("upload", path, "--retries", "0")

        #expect(ending.status == 6)
        #expect(ending.errors.contains("--cacert"))
        #expect(!ending.errors.contains("--insecure"))
        #expect(ending.output.isEmpty)
    }

    @Test("nginx's own 413 results in exit code 2")
    func refusedByNginx() async throws {
        let scratch = try TemporaryDirectory()
        let sandbox = try await Self.sandbox(in: scratch)
        let proxy = try await ReverseProxy(before: sandbox.address, largestBody: "16k")
        let mediactl = try Mediactl(server: proxy.address(), password: "uploader")
        let path = try mediactl.file("clip.mp4", try Repository.data(Self.clip))

        let ending = try await mediactl.run([
            "upload", path, "--cacert", proxy.authority, "--json", "--transport", "multipart",
        ])

        #expect(ending.status == 2, "\(ending.output)\(ending.errors)")
        let item = try #require(try Mediactl.records(ending.output).first { $0["type"] as? String == "item" })
        #expect(item["state"] as? String == "failed")
        #expect(item["http_status"] as? Int == 413)
    }

    @Test("a file too large for nginx is uploaded through it in chunks", arguments: [true, false])
    func chunksThroughNginx(isBuffering: Bool) async throws {
        let scratch = try TemporaryDirectory()
        let sandbox = try await Self.sandbox(in: scratch)
        let proxy = try await ReverseProxy(before: sandbox.address, largestBody: "300k", isBuffering: isBuffering)
        let mediactl = try Mediactl(server: proxy.address(), password: "uploader")
        let content = try Repository.data(Self.clip) + Data(count: 2_000_000)
        let path = try mediactl.file("clip.mp4", content)

        let ending = try await mediactl.run([
            "upload", path, "--transport", "tus", "--cacert", proxy.authority, "--json",
        ])

        #expect(ending.status == 0, "\(ending.output)\(ending.errors)")
        let item = try #require(try Mediactl.records(ending.output).first { $0["type"] as? String == "item" })
        #expect(item["state"] as? String == "done")
        #expect(item["transport"] as? String == "tus")
        #expect(item["verified"] as? Bool == true)
        #expect(item["size_bytes"] as? Int == content.count)
    }

    private static func sandbox(in scratch: TemporaryDirectory) async throws -> ForeignServer {
        try await ForeignServer(
            announcing: ForeignProgram.product("mediactl-sandbox"),
            ["--listen", "127.0.0.1:0", "--data", scratch.file("server")]
        )
    }
}
