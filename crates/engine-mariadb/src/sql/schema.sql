CREATE DATABASE `{schema}` CHARACTER SET latin1
GO
CREATE TABLE `{schema}`.threadwise_mark (says VARCHAR(100) NOT NULL) ENGINE=InnoDB
GO
INSERT INTO `{schema}`.threadwise_mark VALUES ('{says}')
GO
CREATE TABLE `{schema}`.threadwise_objects (kind VARCHAR(9) NOT NULL, name VARCHAR(64) NOT NULL,
    PRIMARY KEY (kind, name)) ENGINE=InnoDB CHARACTER SET ascii COLLATE ascii_bin
GO
CREATE TABLE `{schema}`.threadwise_loads (suffix VARCHAR(64) NOT NULL PRIMARY KEY, bytes BIGINT NOT NULL,
    counted BIGINT NOT NULL, notes TEXT NOT NULL) ENGINE=InnoDB CHARACTER SET utf8mb4
