import Foundation
import GRDB
import HTTPTypes

/// Login and devices (photosync contract 1.2 and 1.3).
struct PeopleEndpoint {
    let catalog: PhotoCatalog

    // MARK: Login

    func login(_ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        var texts: [String: String] = [:]
        for (key, name) in Self.requiredAtLogin {
            let text = try fields.string(key) ?? ""
            guard !text.isEmpty else { return .photoSyncText(.badRequest, name + " is required") }
            texts[key] = text
        }
        // Stored in lower case and compared as sent.
        guard let user = try catalog.user(email: texts["email"] ?? "") else { return Self.wrongLogin }
        guard user.isActive else { return .photoSyncText(.internalServerError, "Internal server error") }
        guard let hash = user.passwordHash else {
            return .photoSyncText(.badRequest, "Password not set for this user")
        }
        guard Digest.hex(of: texts["password"] ?? "") == hash else { return Self.wrongLogin }
        let device: DeviceRecord
        switch try meetOrAddDevice(
            user,
            name: texts["deviceName"] ?? "",
            platform: texts["platform"] ?? "",
            token: texts["fcmToken"] ?? ""
        ) {
        case .success(let known): device = known
        case .failure(let refusal): return refusal.reply
        }
        guard let key = try? catalog.rotateKey(of: user) else {
            return .photoSyncText(.internalServerError, "Failed to save API key")
        }
        return .photoSync(.ok, ["success": true, "user": user.json, "device": device.json, "apiKey": .string(key)])
    }

    private static let requiredAtLogin = [
        ("email", "Email"), ("password", "Password"), ("deviceName", "Device name"), ("platform", "Platform"),
        ("fcmToken", "FCM token"),
    ]

    private static let wrongLogin = Reply.photoSyncText(.unauthorized, "Invalid email or password")

    // MARK: Devices

    func register(_ body: [UInt8], for user: UserRecord) throws -> Reply {
        let fields = try GoFields(body: body)
        let name = try fields.string("deviceName") ?? ""
        let platform = try fields.string("platform") ?? ""
        let token = try fields.string("fcmToken") ?? ""
        guard !token.isEmpty else { return .photoSyncText(.badRequest, "FCM token is required") }
        return switch try meetOrAddDevice(user, name: name, platform: platform, token: token) {
        case .success(let device): .photoSync(.ok, device.json)
        case .failure(let refusal): refusal.reply
        }
    }

    /// A known token is its device, unchanged, over all users.
    private func meetOrAddDevice(
        _ user: UserRecord,
        name: String,
        platform: String,
        token: String
    ) throws -> Result<DeviceRecord, PhotoSyncRefusal> {
        if let known = try catalog.meetDevice(token: token) { return .success(known) }
        let name = name.trimmingCharacters(in: .whitespacesAndNewlines)
        let platform = platform.lowercased()
        guard !name.isEmpty else {
            return .failure(PhotoSyncRefusal(reply: .photoSyncText(.badRequest, "device name cannot be empty")))
        }
        guard ["ios", "android"].contains(platform) else {
            return .failure(
                PhotoSyncRefusal(reply: .photoSyncText(.badRequest, "platform must be 'ios' or 'android'"))
            )
        }
        return .success(try catalog.addDevice(user: user.id, name: name, platform: platform, token: token))
    }

    func devices(of user: UserRecord) throws -> Reply {
        .photoSync(.ok, .array(try catalog.devices(of: user.id).map(\.json)))
    }

    func delete(_ id: String, of user: UserRecord) throws -> Reply {
        guard try catalog.deleteDevice(id, of: user.id) else { return .photoSyncText(.notFound, "Device not found") }
        return .photoSync(.ok, ["success": true])
    }
}
