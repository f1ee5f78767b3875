import HTTPTypes
import HummingbirdCore
import NIOCore

/// The parts of a form that was received whole.
struct CaptureForm {
    private(set) var parts: [String: [UInt8]] = [:]

    /// - Throws: `CaptureRefusal` 400 for anything but a form within the framework's limit (contract 6.1, 7).
    init(_ body: [UInt8], _ exchange: Exchange) throws {
        let type = HeaderParameters(exchange.request.headers[.contentType] ?? "")
        guard type.value.lowercased() == "multipart/form-data", let boundary = type["boundary"], !boundary.isEmpty
        else {
            throw CaptureRefusal.invalid("Request must be multipart/form-data")
        }
        guard body.count <= CaptureSite.frameworkLimit else {
            throw CaptureRefusal.invalid("Error parsing multipart/form-data request")
        }
        var parser = MultipartParser(boundary: boundary)
        var name = ""
        var content: [UInt8] = []
        var parts: [String: [UInt8]] = [:]
        do {
            try parser.consume(ByteBuffer(bytes: body)) { event in
                switch event {
                case .partBegan(let header):
                    name = header.name
                    content = []
                case .data(let buffer): content += buffer.readableBytesView
                case .partEnded: parts[name] = content
                }
            }
        } catch {
            throw CaptureRefusal.invalid("Error parsing multipart/form-data request")
        }
        guard parser.isComplete else { throw CaptureRefusal.invalid("Error parsing multipart/form-data request") }
        self.parts = parts
    }
}
