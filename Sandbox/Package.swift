// swift-tools-version: 6.2
import PackageDescription

// These settings match those in mediactl's package, which builds this package and sets the variable.
var strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
if Context.environment["MEDIACTL_WARNINGS_AS_ERRORS"] == "1" {
    strict.append(.unsafeFlags(["-warnings-as-errors"]))
}

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

// A server to test mediactl with. It shares no source with the client, so the two cannot misread a protocol in the same
// way: this package cannot depend on mediactl's package, which depends on it.
let package = Package(
    name: "Sandbox",
    products: [
        .executable(name: "mediactl-sandbox", targets: ["mediactl-sandbox"]),
        // For Tests/SandboxTests.
        .library(name: "Sandbox", targets: ["Sandbox"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // The default traits, which only configuration files require, are disabled.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
    ],
    targets: [
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "Sandbox",
            dependencies: [
                "CLibcrypto",
                argumentParser,
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(name: "mediactl-sandbox", dependencies: ["Sandbox", argumentParser], swiftSettings: strict),
    ]
)
