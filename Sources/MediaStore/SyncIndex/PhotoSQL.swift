/// Statements over the table `photos`. A parameter has the same number in all of them.
enum PhotoSQL {
    /// What is bound of a photo besides its texts.
    struct Numbers {
        let server: Int64
        let origin: Int64
        let size: Int64
        let takenAt: Int64
        let uploadedAt: Int64
        let width: Int?
        let height: Int?

        @inline(__always)
        init(_ photo: borrowing PhotoRecord, server: Int64, origin: Int64) {
            self.server = server
            self.origin = origin
            size = photo.fileSize
            takenAt = photo.takenAt.microseconds
            uploadedAt = photo.uploadedAt.microseconds
            width = photo.width
            height = photo.height
        }
    }

    /// What is bound of a photo.
    struct Values {
        let bytes: EncodedPhotos.Values
        let numbers: Numbers

        /// What a statement needs.
        enum Use {
            case find, update, insert
        }

        func bind(to statement: RawStatement, _ use: Use) {
            // A statement knows no parameter beyond its last one; an unused one before it does no harm.
            statement.bind(numbers.server, at: 1)
            statement.bind(numbers.uploadedAt, at: 2)
            statement.bind(bytes.id, at: 3)
            statement.bind(bytes.digest, at: 4)
            statement.bind(bytes.name, at: 5)
            statement.bind(numbers.size, at: 6)
            statement.bind(numbers.takenAt, at: 7)
            statement.bind(bytes.takenText, at: 8)
            statement.bind(bytes.uploadedText, at: 9)
            statement.bind(numbers.width.map(Int64.init), at: 10)
            statement.bind(numbers.height.map(Int64.init), at: 11)
            if use != .find { statement.bind(numbers.origin, at: 12) }
        }
    }

    static let numberParameter: Int32 = 13

    private static let isSame = """
        digest = ?4 AND name = ?5 AND size = ?6 AND taken_us = ?7 AND taken_text IS ?8 AND uploaded_text IS ?9 \
        AND width IS ?10 AND height IS ?11
        """

    static let findByUpload = """
        SELECT number, origin, is_gone, \(isSame) FROM photos INDEXED BY photos_by_upload
        WHERE server = ?1 AND uploaded_us = ?2 AND id = ?3
        """

    static let findByID = """
        SELECT number, origin, is_gone, \(isSame) AND uploaded_us = ?2 FROM photos INDEXED BY photos_by_id
        WHERE server = ?1 AND id = ?3
        """

    static let insert = """
        INSERT INTO photos (server, uploaded_us, id, digest, name, size, taken_us, taken_text, uploaded_text,
            width, height, origin)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        ON CONFLICT (server, uploaded_us, id) DO NOTHING
        """

    private static let assignments = """
        digest = ?4, name = ?5, size = ?6, taken_us = ?7, taken_text = ?8, uploaded_text = ?9, width = ?10, \
        height = ?11, origin = ?12, is_gone = 0
        """

    static let update = "UPDATE photos SET \(assignments) WHERE number = ?13"
    /// With the column that the index over uploads holds.
    static let move = "UPDATE photos SET uploaded_us = ?2, \(assignments) WHERE number = ?13"
}
