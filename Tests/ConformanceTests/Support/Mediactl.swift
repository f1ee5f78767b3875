import Foundation
import TestSupport

/// The built `mediactl` with a separate home directory.
struct Mediactl {
    let directory: TemporaryDirectory
    private let environment: [String: String]

    init(server: String, password: String, extra: [String: String] = [:]) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let places = ["CONFIG", "DATA", "STATE", "CACHE"].map { ("XDG_\($0)_HOME", directory.file($0.lowercased())) }
        environment = Dictionary(uniqueKeysWithValues: places).merging([
            "HOME": directory.path, "MEDIACTL_SERVER": server, "MEDIACTL_USER": "uploader",
            "MEDIACTL_PASSWORD": password, "no_proxy": "*",
        ]) { $1 }.merging(extra) { $1 }
    }

    /// Writes a file of this name to the home directory.
    func file(_ name: String, _ content: Data) throws -> String {
        let path = directory.file(name)
        try content.write(to: URL(filePath: path))
        return path
    }

    func run(_ arguments: String...) async throws -> ChildResult { try await run(arguments) }

    func run(_ arguments: [String]) async throws -> ChildResult {
        try await ForeignProgram.run(
            ForeignProgram.product("mediactl"),
            arguments + ["--no-input"],
            environment: environment
        )
    }

    /// The records of `--json` output.
    static func records(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { line in
            guard let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw ForeignProgram.Failure("not a record: \(line)")
            }
            return record
        }
    }
}
