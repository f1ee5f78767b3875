import Foundation

/// Headers of one form part.
struct PartHeader: Equatable {
    /// The field's name; empty when the part has none.
    var name = ""
    /// Present when the part is a file, as the client spelled it, directories removed (as PHP does).
    var fileName: String?
    /// The part's own `Content-Type`, without parameters.
    var contentType = ""

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            switch line[..<colon].lowercased() {
            case "content-disposition":
                let parameters = HeaderParameters(value)
                name = parameters["name"] ?? ""
                fileName = parameters["filename"].map(Self.lastComponent)
            case "content-type":
                contentType = HeaderParameters(value).value.lowercased()
            default: break
            }
        }
    }

    private static func lastComponent(_ path: String) -> String {
        String(path[(path.lastIndex { $0 == "/" || $0 == "\\" }.map(path.index(after:)) ?? path.startIndex)...])
    }
}
