internal import Foundation

/// A manufacturer of software TPMs: a separate authority that signs certificates of endorsement keys
/// (`swtpm_localca`).
public struct TPMMaker: Sendable {
    private let directory: TemporaryDirectory

    /// Creates a manufacturer; its authority is created with the first TPM.
    ///
    /// - Throws: An error if the files cannot be written.
    public init() throws {
        directory = try TemporaryDirectory()
        let path = directory.path
        let authority = """
            statedir = \(path)
            signingkey = \(path)/signkey.pem
            issuercert = \(path)/issuercert.pem
            certserial = \(path)/certserial

            """
        // Debian has the tool in PATH, or in one of these directories.
        let places = ["/usr/bin", "/usr/share/swtpm", "/usr/lib/swtpm", "/usr/local/bin"]
        let tool = places.map { $0 + "/swtpm_localca" }.first(where: FileManager.default.isExecutableFile)
        let setup = """
            create_certs_tool = \(tool ?? "swtpm_localca")
            create_certs_tool_config = \(path)/authority.conf
            create_certs_tool_options = \(path)/authority.options
            active_pcr_banks = sha256

            """
        for (name, text) in [("authority.conf", authority), ("authority.options", ""), ("setup.conf", setup)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)))
        }
    }

    /// The root's certificate, in PEM.
    public var root: String { directory.file("swtpm-localca-rootca-cert.pem") }
    /// The certificate of the authority below the root, which signs the certificates of the keys; in PEM.
    public var issuer: String { directory.file("issuercert.pem") }
    /// The key of the authority below the root, in PEM.
    public var issuerKey: String { directory.file("signkey.pem") }

    func manufacture(in state: String) async throws {
        let result = try await ChildProcess.run(
            "swtpm_setup",
            [
                "--tpm2", "--tpm-state", state, "--create-ek-cert", "--overwrite",
                "--config", directory.file("setup.conf"), "--logfile", directory.file("log"),
            ]
        )
        guard result.status == 0 else {
            let log = try? String(contentsOfFile: directory.file("log"), encoding: .utf8)
            throw SoftwareTPM.Failure.refused("swtpm_setup", result.errors + (log ?? ""))
        }
    }
}
