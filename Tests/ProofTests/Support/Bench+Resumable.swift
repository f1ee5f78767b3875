import Foundation
import TestSupport
import Testing

/// Helpers for the tests of resumable and bulk uploads.
extension Bench {
    /// The name of `movie` in the frozen tests of 0.1.0.
    func randomMovie(_ byteCount: Int) throws -> String { try movie(byteCount) }

    /// The output of `sha256sum` for a file.
    func sha256(_ path: String) async throws -> String {
        let result = try await ChildProcess.run("/usr/bin/sha256sum", [path], environment: runner.environment)
        return String(result.output.prefix(64))
    }

    /// The report of a run.
    func report(_ path: String) throws -> [[String: Any]] {
        let text = try Data(contentsOf: URL(fileURLWithPath: path))
        let report = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect(report["schema"] as? String == "mediactl.upload-report/1")
        return try #require(report["items"] as? [[String: Any]])
    }
}

extension SandboxProcess {
    /// IDs in all pages of the server's listing, by the SHA-256 in the stored file's name.
    func objects() async throws -> [String: [Int]] {
        var objects: [String: [Int]] = [:]
        var page = 1
        var pageCount = 1
        while page <= pageCount {
            let listing = try await curl("\(baseURL)/db/database.php?format=json&view=librarian&page=\(page)")
            let response = try #require(try JSONSerialization.jsonObject(with: Data(listing.utf8)) as? [String: Any])
            pageCount = (response["pagination"] as? [String: Any])?["pageCount"] as? Int ?? 1
            for entry in response["entries"] as? [[String: Any]] ?? [] {
                let name = try #require(entry["file_name"] as? String)
                objects[String(name.prefix(64)), default: []].append(try #require(entry["id"] as? Int))
            }
            page += 1
        }
        return objects
    }

    /// SHA-256 of the file that the server serves under a SHA-256.
    func digestServed(_ checksum: String) async throws -> String {
        let pipe = "curl -s -f -u viewer:viewer '\(baseURL)/video/\(checksum).mp4' | sha256sum"
        return String(try await ChildProcess.run("/bin/sh", ["-c", pipe]).output.prefix(64))
    }

    private func curl(_ address: String) async throws -> String {
        let response = try await ChildProcess.run("/usr/bin/curl", ["-s", "-S", "-f", "-u", "viewer:viewer", address])
        guard response.exitCode == 0 else { throw Failure.control(status: 0, response.errors) }
        return response.output
    }
}
