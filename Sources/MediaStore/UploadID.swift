/// Ids of uploads become parts of file names.
enum UploadID {
    /// - Throws: `StoreError` for a text that is not a plain name of at most 40 letters, digits and hyphens.
    static func check(_ text: String, path: String) throws(StoreError) {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2d
        }
        guard !text.isEmpty, text.utf8.count <= 40, isPlain else {
            throw StoreError(.other, path: path, detail: "\"\(text)\" is not an upload id")
        }
    }
}
