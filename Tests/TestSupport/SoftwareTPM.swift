internal import Foundation

/// A software TPM 2.0 (`swtpm`) on loopback, new, empty and started.
///
/// It is killed when the last reference is released.
public final class SoftwareTPM: Sendable {
    /// The TPM could not be used.
    public enum Failure: Error {
        /// `swtpm` exited before it was listening; contains its standard error.
        case notReady(String)
        /// A program failed; contains its name and standard error.
        case refused(String, String)
    }

    /// For `TPM2OPENSSL_TCTI` of tpm2-openssl and `TPM2TOOLS_TCTI` of tpm2-tools.
    public let connection: String
    /// The variables of this process, and the two that select this TPM.
    public let environment: [String: String]

    private let process: ChildProcess
    private let state: TemporaryDirectory

    /// Starts a TPM and waits until it is listening.
    ///
    /// - Parameter maker: Creates an RSA endorsement key with a certificate; if nil, the TPM has no certificate.
    /// - Returns: The running TPM.
    /// - Throws: ``Failure/notReady(_:)``.
    public static func start(madeBy maker: TPMMaker? = nil) async throws -> SoftwareTPM {
        var errors = ""
        // A free port may be taken before swtpm binds it.
        for _ in 1...10 {
            let state = try TemporaryDirectory()
            try await maker?.manufacture(in: state.path)
            let port = try freePair()
            let process = try ChildProcess(
                "swtpm",
                [
                    "socket", "--tpm2", "--flags", "not-need-init,startup-clear", "--tpmstate", "dir=" + state.path,
                    "--server", "type=tcp,bindaddr=127.0.0.1,port=\(port)",
                    "--ctrl", "type=tcp,bindaddr=127.0.0.1,port=\(port + 1)",
                ]
            )
            let deadline = ContinuousClock.now + .seconds(60)
            while process.isRunning, ContinuousClock.now < deadline {
                // The control channel may be opened and closed at any time; the other channel would treat that as its
                // client.
                if LoopbackPort.isOpen(port + 1) {
                    return SoftwareTPM(port: port, process: process, state: state)
                }
                try await Task.sleep(for: .milliseconds(5))
            }
            process.killNow()
            errors = process.result.errors
        }
        throw Failure.notReady(errors)
    }

    private init(port: UInt16, process: ChildProcess, state: TemporaryDirectory) {
        connection = "swtpm:host=127.0.0.1,port=\(port)"
        let variables = ["TPM2OPENSSL_TCTI": connection, "TPM2TOOLS_TCTI": connection]
        environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        self.process = process
        self.state = state
    }

    /// Selects this TPM for tpm2-openssl in this process, until the next call; for suites that run alone.
    ///
    /// Also silences the library below it, which writes each TPM error to standard error.
    public func useInThisProcess() {
        setenv("TPM2OPENSSL_TCTI", connection, 1)
        setenv("TSS2_LOG", "all+none", 1)
    }

    /// Switches the TPM off; its keys are lost.
    public func stop() {
        process.killNow()
    }

    /// Creates a signing key and stores it in the TPM.
    ///
    /// - Parameters:
    ///   - handle: Where it is stored, such as `0x81000001`.
    ///   - algorithm: As for `tpm2_createprimary -G`.
    /// - Throws: ``Failure/refused(_:_:)``.
    public func makeKey(at handle: String, algorithm: String = "ecc256:ecdsa-sha256") async throws {
        let context = state.file("key-\(handle).ctx")
        let attributes = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign"
        try await run("tpm2_createprimary", ["-Q", "-C", "o", "-G", algorithm, "-a", attributes, "-c", context])
        try await run("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", context, handle])
        // No resource manager frees the TPM's three slots for loaded keys.
        try await run("tpm2_flushcontext", ["-t"])
    }

    /// Creates a key in a file, wrapped by the TPM (`TSS2 PRIVATE KEY`).
    ///
    /// - Parameter path: Where to write it.
    /// - Throws: ``Failure/refused(_:_:)``.
    public func makeKeyFile(_ path: String) async throws {
        try await run(
            "openssl",
            ["genpkey", "-provider", "tpm2", "-algorithm", "EC", "-pkeyopt", "group:P-256", "-out", path]
        )
    }

    /// Runs a program that uses this TPM.
    ///
    /// - Parameters:
    ///   - program: To be found in `PATH`.
    ///   - arguments: Without the program's name.
    /// - Returns: Its output.
    /// - Throws: ``Failure/refused(_:_:)`` if it fails.
    @discardableResult
    public func run(_ program: String, _ arguments: [String]) async throws -> ChildResult {
        let result = try await ChildProcess.run(program, arguments, environment: environment)
        guard result.status == 0 else { throw Failure.refused(program, result.errors) }
        return result
    }

    /// A free loopback port followed by another free one: swtpm's clients expect the control channel there.
    private static func freePair() throws -> UInt16 {
        while true {
            let port = try LoopbackPort.bound(to: 0)
            if port < .max, (try? LoopbackPort.bound(to: port + 1)) != nil { return port }
        }
    }
}

/// Ports of 127.0.0.1.
private enum LoopbackPort {
    /// Binds a port, and releases it immediately.
    ///
    /// - Parameter port: 0 for any.
    /// - Returns: The port.
    /// - Throws: `SoftwareTPM.Failure` if it is in use.
    static func bound(to port: UInt16) throws -> UInt16 {
        try withSocket(port) { descriptor, address, length in
            bind(descriptor, address, length.pointee) == 0 && getsockname(descriptor, address, length) == 0
        }
    }

    /// Whether a process listens there.
    static func isOpen(_ port: UInt16) -> Bool {
        (try? withSocket(port) { connect($0, $1, $2.pointee) == 0 }) != nil
    }

    private static func withSocket(
        _ port: UInt16,
        _ body: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
    ) throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let worked = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0, &length) }
        }
        guard worked else { throw SoftwareTPM.Failure.notReady("port \(port): errno \(errno)") }
        return UInt16(bigEndian: address.sin_port)
    }
}
