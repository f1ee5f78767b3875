#if DEBUG || TESTABLE
    @testable import GigHive
    import MediaStore

    /// The responses of a GigHive server.
    enum ResponseEntry {
        static func check(_ body: [UInt8]) -> String? {
            _ = DeleteResponse.parse(body)
            return checkUpload(body) ?? checkListing(body)
        }

        private static func checkUpload(_ body: [UInt8]) -> String? {
            let response = UploadResponse.parse(status: 201, body: body)
            if response.status != 201 {
                return "the status changed"
            }
            if let checksum = response.checksumSHA256, !Shape.isSHA256(checksum) {
                return "an invalid checksum: \(checksum)"
            }
            if let id = response.fileID, id < 0 {
                return "a negative id: \(id)"
            }
            if let token = response.deleteToken, "\(token)" != "delete token ***" {
                return "an unredacted token"
            }
            return nil
        }

        private static func checkListing(_ body: [UInt8]) -> String? {
            guard let page = ListingPage.parse(body) else { return nil }
            if let entry = page.entries.first(where: { ($0.fileID ?? 0) < 0 || $0.fileID == nil && $0.fileName == nil })
            {
                return "an invalid entry: \(entry)"
            }
            return nil
        }
    }
#endif
