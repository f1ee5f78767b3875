import Foundation
import TestSupport
import Testing

/// Media files and requests that the tests share.
struct Fixture {
    let sandbox: SandboxProcess
    private let media: TemporaryDirectory

    init(
        dialect: String = "d3",
        faults: [String] = [],
        arguments: [String] = [],
        data: TemporaryDirectory? = nil
    ) async throws {
        sandbox = try await SandboxProcess.start(dialect: dialect, faults: faults, arguments: arguments, data: data)
        media = try TemporaryDirectory()
    }

    /// A file with unique content; the sandbox checks names and types, so text is sufficient.
    func file(_ name: String = "clip.mp4", content: String) throws -> String {
        try media.write(UUID().uuidString + "-" + name, content.utf8)
    }

    /// A file of this many bytes, without line ends.
    func file(size: Int) throws -> String {
        try file(content: String(repeating: "x", count: size))
    }

    /// Uploads with a label and defaults for everything else.
    func upload(
        _ path: String,
        user: String = "uploader",
        to endpoint: String = "/api/uploads.php",
        fields: [String] = [],
        options: [String] = []
    ) async throws -> CurlResponse {
        let form = (["label=clip"] + fields).flatMap { ["-F", $0] }
        return try await curl(
            ["-u", "\(user):\(user)", "-F", "file=@\(path);type=video/mp4"] + form + options
                + [sandbox.baseURL + endpoint]
        )
    }

    func get(_ path: String, user: String = "viewer", options: [String] = []) async throws -> CurlResponse {
        try await curl(["-u", "\(user):\(user)"] + options + [sandbox.baseURL + path])
    }

    func delete(_ json: String, user: String = "uploader") async throws -> CurlResponse {
        try await curl([
            "-u", "\(user):\(user)", "-H", "Content-Type: application/json", "-d", json,
            sandbox.baseURL + "/db/delete_media_files.php",
        ])
    }
}

extension CurlResponse {
    /// The body as a JSON object.
    func object() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
    }

    func string(_ key: String) throws -> String? { try object()[key] as? String }
    func int(_ key: String) throws -> Int? { try object()[key] as? Int }
}
