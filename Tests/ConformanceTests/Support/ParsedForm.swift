import Foundation
import MediaTransport
import Testing

/// A multipart body as a third-party parser reads it: the output of `scripts/dump.php` and
/// `scripts/multipart_parsers.py`.
struct ParsedForm: Decodable, Equatable {
    struct File: Decodable, Equatable {
        let field: String
        let name: String
        let contentType: String?
        let size: Int
        let sha256: String

        enum CodingKeys: String, CodingKey {
            case field, name, size, sha256
            case contentType = "content_type"
        }
    }

    let fields: [[String]]
    let files: [File]
    let contentLength: Int

    enum CodingKeys: String, CodingKey {
        case fields, files
        case contentLength = "content_length"
    }

    init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: json)
        } catch {
            throw ForeignProgram.Failure("not a parsed form: \(String(decoding: json, as: UTF8.self))")
        }
    }
}

/// A form to be sent by mediactl and by `curl -F`.
struct SampleForm: Sendable {
    var fields: [(name: String, value: String)] = [(name: "label", value: "First dance")]
    var fileField = "file"
    var fileName = "clip.mp4"
    var contentType = "video/mp4"
    var content: [UInt8] = Array("not really a video".utf8)
    var boundary = MultipartForm.randomBoundary()

    /// Builds the body for a file with `content` at `path`.
    func body(contentAt path: String) throws -> MultipartForm {
        try Data(content).write(to: URL(filePath: path))
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        return MultipartForm(
            fields: fields,
            file: FileContent(owning: descriptor, byteCount: Int64(content.count)),
            name: fileField,
            fileName: fileName,
            fileType: contentType,
            boundary: boundary
        )
    }

    /// The arguments with which curl sends the same form.
    func curlArguments(contentAt path: String) -> [String] {
        let quoted = fileName.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return fields.flatMap { ["--form-string", "\($0.name)=\($0.value)"] }
            + ["--form", "\(fileField)=@\(path);type=\(contentType);filename=\"\(quoted)\""]
    }
}
