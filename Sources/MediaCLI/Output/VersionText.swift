internal import HashCapture
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport

/// What `--version` says: the program, then the libraries that it runs with, each with its version on a line.
enum VersionText {
    /// The first line, which the parser knows. Only when somebody asks are the libraries asked.
    static let program = "mediactl \(MediactlCommand.version)"

    static var lines: [String] {
        let tls = LibcurlVersion.tls.map { " (\($0))" } ?? ""
        let libraries = [
            "libcurl \(LibcurlVersion.number)\(tls)",
            "OpenSSL \(OpenSSLVersion.number)",
            "SQLite \(SQLiteVersion.number)",
        ]
        return [program] + libraries + ImageLibraries.versions.map { "\($0.name) \($0.number)" }
    }
}
