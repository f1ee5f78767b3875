import Foundation
import NIOCore

/// Takes an upload's form apart while it arrives, as PHP fills `$_POST` and `$_FILES`.
final class UploadFormReader {
    /// The part called `file`.
    struct Upload {
        var header: PartHeader
        var file: IncomingFile

        /// Lower case, only letters and digits; empty when there is none.
        var fileExtension: String {
            guard let name = header.fileName, let dot = name.lastIndex(of: ".") else { return "" }
            return name[name.index(after: dot)...].lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }

        var kind: MediaKind? {
            MediaKind.judged(
                declaredType: header.contentType,
                fileExtension: fileExtension,
                prefix: file.prefix
            )
        }
    }

    private enum Part {
        case none
        case field(name: String, value: ByteBuffer)
        case file(Upload)
        /// A file under another name; PHP would store it, nobody would look at it.
        case ignored
    }

    /// Longer field values are cut: no field of an upload is anywhere near.
    private static let fieldLimit = 1 << 20

    private(set) var fields: [String: String] = [:]
    private(set) var upload: Upload?
    private(set) var hasSeveralFiles = false
    private(set) var hasExecutableFieldName = false
    private var couldNotWrite = false
    private var parser: MultipartParser?
    private let folder: DataFolder
    private var part = Part.none

    /// A form without a boundary is empty for PHP.
    init(boundary: String, folder: DataFolder) {
        parser = boundary.isEmpty ? nil : MultipartParser(boundary: boundary)
        self.folder = folder
    }

    /// Takes the next bytes. Nothing is thrown: like PHP, a form that went wrong is judged at its end.
    func consume(_ chunk: ByteBuffer) {
        do {
            try parser?.consume(chunk, handle)
        } catch {
            couldNotWrite = error is SystemError
            parser = nil
        }
    }

    /// PHP's error code for the file: 7 when the disk refused it, 3 when the form ended inside it, 4 when its name
    /// was empty.
    var uploadErrorCode: Int? {
        if couldNotWrite { return 7 }
        if parser?.isComplete != true { return 3 }
        return upload?.header.fileName?.isEmpty == true ? 4 : nil
    }

    private func handle(_ event: MultipartParser.Event) throws {
        switch event {
        case .partBegan(let header): try begin(header)
        case .data(let buffer): try append(buffer)
        case .partEnded: end()
        }
    }

    private func begin(_ header: PartHeader) throws {
        // The firewall looks at the ends of field names.
        if [".php", ".sh", ".exe", ".phtml", ".pl", ".cgi"].contains(where: header.name.lowercased().hasSuffix) {
            hasExecutableFieldName = true
        }
        guard header.fileName != nil else {
            part = .field(name: header.name, value: ByteBuffer())
            return
        }
        guard header.name == "file" || header.name == "file[]" else {
            part = .ignored
            return
        }
        if upload != nil || header.name == "file[]" { hasSeveralFiles = true }
        let upload = Upload(header: header, file: try IncomingFile(path: folder.newIncomingPath(), hashedBy: .sha256))
        self.upload = upload
        part = .file(upload)
    }

    private func append(_ buffer: ByteBuffer) throws {
        switch part {
        case .file(let upload): try upload.file.append(buffer)
        case .field(let name, var value):
            guard value.readableBytes + buffer.readableBytes <= Self.fieldLimit else { return }
            // Taken out first, so that appending does not copy what is there.
            part = .none
            value.writeImmutableBuffer(buffer)
            part = .field(name: name, value: value)
        case .none, .ignored: break
        }
    }

    private func end() {
        if case .field(let name, let value) = part { fields[name] = String(buffer: value) }
        part = .none
    }
}
