import Foundation
import TestSupport

/// A response as received by curl.
struct CurlResponse {
    var exitCode: Int32
    /// 0 if there was no response.
    var status = 0
    /// Names are in lowercase.
    var headers: [String: String] = [:]
    /// All values of each header, in the order of the lines.
    var headerLines: [String: [String]] = [:]
    var body = Data()
    var uploadedBytes = 0

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Runs curl: a client that shares no code with the sandbox.
func curl(_ arguments: String...) async throws -> CurlResponse {
    try await curl(arguments)
}

func curl(_ arguments: [String]) async throws -> CurlResponse {
    let folder = try TemporaryDirectory()
    let ending = try await ChildProcess.run(
        "curl",
        ["-q", "-s", "--max-time", "120", "-D", folder.file("head"), "-o", folder.file("body")]
            + ["-w", "%{size_upload}"] + arguments
    )
    var response = CurlResponse(exitCode: ending.status)
    response.body = (try? Data(contentsOf: URL(fileURLWithPath: folder.file("body")))) ?? Data()
    response.uploadedBytes = Int(ending.output) ?? 0
    let head = (try? String(contentsOfFile: folder.file("head"), encoding: .utf8)) ?? ""
    // Interim responses come first; only the block after them counts.
    let lines =
        head.components(separatedBy: "\r\n\r\n").last { !$0.isEmpty && !$0.hasPrefix("HTTP/1.1 1") }?.components(
            separatedBy: "\r\n"
        ) ?? []
    response.status = lines.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
    for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        response.headers[line[..<colon].lowercased()] = value
        response.headerLines[line[..<colon].lowercased(), default: []].append(value)
    }
    return response
}

/// The output of a program.
func output(of command: [String]) async throws -> String {
    try await ChildProcess.run("/usr/bin/env", command).output
}
