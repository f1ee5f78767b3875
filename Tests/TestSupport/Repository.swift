public import Foundation

/// The files of this package.
public enum Repository {
    public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The interpreter with the packages that the tests use (`scripts/setup.sh test` installs them).
    public static let python = path(".build/venv/bin/python")

    public static func path(_ relativePath: String) -> String { root.appending(path: relativePath).path }

    public static func data(_ relativePath: String) throws -> Data {
        try Data(contentsOf: root.appending(path: relativePath))
    }

    public static func text(_ relativePath: String) throws -> String {
        try String(contentsOf: root.appending(path: relativePath), encoding: .utf8)
    }
}
