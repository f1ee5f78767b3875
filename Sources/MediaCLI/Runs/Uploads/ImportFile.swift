internal import Foundation
internal import MediaStore
internal import MediaTransport

/// The file of an import.
enum ImportFile {
    /// Far more than a store that anybody has: some 400,000 entries.
    private static let limit = 256 << 20

    /// Reads and understands the whole file.
    ///
    /// - Throws: `Diagnosis`; it never repeats what a line holds.
    static func entries(of file: String, standardInput: Int32) throws(Diagnosis) -> [TokenEntry] {
        let path = RawArguments.bytes(of: file)
        let name = file == "-" ? "standard input" : ErrorCatalogue.quoted(path)
        let bytes = file == "-" ? try bytes(of: standardInput, name) : try bytes(at: path, name)
        do throws(TokenExportError) {
            return try TokenExport.entries(in: bytes, scope: scope)
        } catch {
            throw Diagnosis(
                "invalid_import",
                "\(name), line \(error.line): \(error.reason)",
                hint: "nothing was imported; the file must be as mediactl uploads export wrote it",
                exitCode: .usage
            )
        }
    }

    /// The same rules as for the server of a request, so that a token never goes to another host than it came from.
    private static func scope(of baseURL: String) -> String? {
        guard let server = try? ServerURL(baseURL), !server.assumedScheme else { return nil }
        return server.scope
    }

    private static func bytes(at path: [UInt8], _ name: String) throws(Diagnosis) -> [UInt8] {
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            throw unreadable(name, errno == ENOENT ? "file_not_found" : "file_unreadable", errno)
        }
        defer { close(descriptor) }
        return try bytes(of: descriptor, name)
    }

    private static func bytes(of descriptor: Int32, _ name: String) throws(Diagnosis) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= limit {
            let count = read(descriptor, &block, block.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += block[..<count]
            } else if errno == EAGAIN {
                // Somebody's non-blocking pipe.
                var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&event, 1, -1)
            } else if errno != EINTR {
                throw unreadable(name, "file_unreadable", errno)
            }
        }
        throw Diagnosis("file_too_large", "\(name) is larger than \(limit >> 20) MiB", exitCode: .usage)
    }

    private static func unreadable(_ name: String, _ code: String, _ errno: Int32) -> Diagnosis {
        let isMissing = errno == ENOENT
        let reason = isMissing ? "no such file" : String(cString: strerror(errno)).lowercased()
        return Diagnosis(
            code,
            "cannot read \(name): \(reason)",
            hint: isMissing ? "check the spelling of the path" : nil,
            exitCode: .usage
        )
    }
}
