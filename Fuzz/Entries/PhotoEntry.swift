internal import MediaCore

#if DEBUG || TESTABLE
    import MediaStore
    @testable import MediaTransport
    @testable import PhotoSync

    /// The responses of a PhotoSync server.
    enum PhotoEntry {
        static func check(_ body: [UInt8]) -> String? {
            checkPage(body) ?? checkResponses(body) ?? checkRefusal(body)
        }

        /// A parsed page must be storable: it has IDs, digests, sizes, and times that round-trip.
        private static func checkPage(_ body: [UInt8]) -> String? {
            guard let page = try? PhotoPageParser.page(in: body) else { return nil }
            if page.cursor?.isEmpty == true || page.totalCount < 0 {
                return "an invalid position: \(String(describing: page.cursor)) of \(page.totalCount)"
            }
            for photo in page.photos {
                guard !photo.id.isEmpty, Shape.isSHA256(photo.sha256), photo.fileSize >= 0,
                    photo.originDevice?.id.isEmpty != true, (photo.width ?? 0) >= 0, (photo.height ?? 0) >= 0
                else { return "an invalid photo: \(photo)" }
                for time in [photo.takenAt, photo.uploadedAt] where !roundTrips(time) {
                    return "an invalid time: \(time)"
                }
            }
            return nil
        }

        /// A time must be unchanged after it is parsed, written and parsed again; only an offset can move it outside the
        /// range of years that can be written.
        private static func roundTrips(_ time: PhotoTime) -> Bool {
            guard let text = RFC3339.text(microseconds: time.microseconds) else { return !time.text.hasSuffix("Z") }
            return RFC3339.microseconds(text) == time.microseconds
        }

        private static func checkResponses(_ body: [UInt8]) -> String? {
            if let digests = try? CheckResponse.existing(in: body), !digests.allSatisfy(Shape.isSHA256) {
                return "an invalid digest among \(digests)"
            }
            if let count = try? ClaimResponse.claimed(in: body), count < 0 {
                return "a negative number: \(count)"
            }
            if let status = try? SyncStatus(reading: body), status.totalPhotos < 0 || status.devicePhotos < 0 {
                return "an invalid status: \(status)"
            }
            let devices = (try? RegisteredDevice.all(in: body)) ?? []
            if devices.contains(where: \.id.isEmpty) || (try? RegisteredDevice.one(in: body))?.id.isEmpty == true {
                return "a device without an id"
            }
            if (try? PhotoReceipt(reading: body))?.id.isEmpty == true {
                return "a photo without an id"
            }
            if (try? LoginResponse(reading: body))?.apiKey.isEmpty == true {
                return "an empty key"
            }
            return nil
        }

        /// The reason must be short, whatever the response contains.
        private static func checkRefusal(_ body: [UInt8]) -> String? {
            for status in [200, 302, 400, 401, 404, 409, 500, 503] {
                let response = response(status, body)
                _ = ServerHealth.isSetUp(response)
                let error = ServerRefusal(response).error()
                if !Shape.isShort(error.detail) {
                    return "a reason of \(error.detail.count) characters"
                }
            }
            return nil
        }

        private static func response(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
            HTTPResponse(
                head: HTTPResponseHead(status: status, headers: [HTTPHeader("Content-Type", "application/json")]),
                body: body,
                metrics: TransferMetrics()
            )
        }
    }
#endif
